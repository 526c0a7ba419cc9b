// Which machine model decisions start from. Found in this order: the file that the settings name; this machine's own,
// in the user's cache; then, once the name of the GPU is known, one for this GPU in the user's cache, in /etc/blastoff,
// or among those that came with the library.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "decide/machine_model.h"
#include "decide/model_file.h"

namespace blastoff::runtime {

struct FoundModel {
  decide::ModelFile file;
  std::string path;
};

/// Reads a file; what is wrong with it is one line on stderr. Nothing also where there is none.
std::optional<FoundModel> read_model(const std::string& path);

/// The user's cache; "" where the variables name none.
std::string models_of_user();
/// All folders with models, in the order of preference.
std::vector<std::string> model_folders();

/// From before the device is open.
std::optional<FoundModel> model_of_host();
/// The first in these folders that describes this GPU.
std::optional<FoundModel> model_of_gpu(const std::vector<std::string>& folders, const std::string& gpu);

/// What decisions start from: the device's part of one file, and the CPU's of one that was measured on such a machine
/// with a BLAS that is loaded. Each may be nullptr. Never freed: decisions refer to it.
const decide::MachineModel* complete_model(const decide::MachineModel& assumed, const FoundModel* device,
                                           const FoundModel* host);

}  // namespace blastoff::runtime
