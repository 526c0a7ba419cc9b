// Finds the machine model from which decisions start. In this order: the file that the settings name; this machine's
// own file in the user's cache; then, once the name of the GPU is known, a file for this GPU in the user's cache, in
// /etc/blastoff, or among those that came with the library.
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

/// Reads a file. Errors in it are one line on stderr. nullopt on errors, and if there is no such file.
std::optional<FoundModel> read_model(const std::string& path);

/// Folder of models in the user's cache; "" if the environment names none.
std::string models_of_user();
/// All folders with models, in the order of preference.
std::vector<std::string> model_folders();

/// This machine's own model in the user's cache, which can be read before the device is open.
std::optional<FoundModel> model_of_host();
/// The first in these folders that describes this GPU.
std::optional<FoundModel> model_of_gpu(const std::vector<std::string>& folders, const std::string& gpu);

/// The model from which decisions start: the device's part of one file, and the CPU's part of `host` if that was
/// measured on such a machine, with a BLAS that is loaded here. Each may be nullptr. The result is never freed:
/// decisions refer to it.
const decide::MachineModel* complete_model(const decide::MachineModel& assumed, const FoundModel* device,
                                           const FoundModel* host);

}  // namespace blastoff::runtime
