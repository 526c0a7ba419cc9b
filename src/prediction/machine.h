// A machine on which a trace is replayed: its model, and quantities that only the replay needs.
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
  std::size_t memory = std::size_t{80} << 30;  ///< bytes of a GPU
  double pinned_to_device = 25e9;              ///< bytes per second, from page-locked memory
  double pinned_from_device = 25e9;            ///< bytes per second, into page-locked memory
  double first_touch_from_device = 25e9;       ///< bytes per second, into memory that has no pages yet
  double launch_seconds = 0;                   ///< for every operation
  double pin_seconds_per_byte = 0;
  device::HostAccess access = device::HostAccess::none;
  std::optional<device::simulated::Rates> simulated;  ///< rates of the simulated device, whose work does not overlap

  const decide::MachineModel& model() const { return file.model; }

  /// Seconds of an operation whose operands are on the device, without what every call takes.
  double work_seconds(const operation::Operation& operation) const;
  /// Seconds that every call takes: for looking at pages and for waiting.
  double call_seconds(const operation::Operation& operation) const;

  double to_device() const { return simulated ? simulated->link : file.model.to_device; }
  double from_device() const { return simulated ? simulated->link : file.model.from_device; }
  double open_seconds() const { return simulated ? simulated->start : file.model.open_seconds; }
  double close_seconds() const { return simulated ? 0 : file.model.close_seconds; }
};

/// `json`: a machine model. The error says in a few words what is wrong with it.
tl::expected<Machine, std::string> read_machine(const std::string& json);

/// The simulated device with a clock. `rates`: as --simulated-rates takes them.
tl::expected<Machine, std::string> simulated_machine(const std::string& rates, std::size_t memory);

}  // namespace blastoff::prediction
