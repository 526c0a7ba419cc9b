// A machine that a trace is replayed on: its model, and what only the replay asks of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <tl/expected.hpp>

#include "decide/model_file.h"
#include "device/device.h"
#include "device/simulated/clock.h"

namespace blastoff::prediction {

struct Machine {
  decide::ModelFile file;
  std::size_t memory = std::size_t{80} << 30;  ///< of a GPU, bytes
  double pinned_to_device = 25e9;              ///< bytes per second, from page-locked memory
  double pinned_from_device = 25e9;            ///< likewise, into it
  double first_touch_from_device = 25e9;       ///< into memory without pages: the kernel makes them meanwhile
  double launch_seconds = 0;                   ///< of every operation
  double pin_seconds_per_byte = 0;
  device::HostAccess access = device::HostAccess::none;
  std::optional<device::simulated::Rates> simulated;  ///< the simulated device's, whose work does not overlap

  const decide::MachineModel& model() const { return file.model; }

  /// Of an operation with everything there, without what every call takes.
  double work_seconds(const operation::Operation& operation) const;
  /// Of every call: looking at pages, waiting.
  double call_seconds(const operation::Operation& operation) const;

  double to_device() const { return simulated ? simulated->link : file.model.to_device; }
  double from_device() const { return simulated ? simulated->link : file.model.from_device; }
  double open_seconds() const { return simulated ? simulated->start : file.model.open_seconds; }
};

/// `json`: a machine model. The error is what is wrong with it, in a few words.
tl::expected<Machine, std::string> read_machine(const std::string& json);

/// The simulated device with a clock: rates as --simulated-rates takes them.
tl::expected<Machine, std::string> simulated_machine(const std::string& rates, std::size_t memory);

}  // namespace blastoff::prediction
