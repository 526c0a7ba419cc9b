// Opening a device by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/kinds.h"

namespace blastoff::device {

/// What to open. Accepted names: those of device/kinds.def.
struct Choice {
  std::string name{default_kind.name};
  std::string cuda_path;      ///< extra directory searched for libcublas first (BLASTOFF_CUDA_PATH), may be empty
  int local_rank = -1;        ///< rank among the processes of the job on this node, -1 if unknown
  int local_size = 1;         ///< how many these are
  std::string run_directory;  ///< where processes of the run meet (platform/peers.h), "" for none
  int memory_node = -1;       ///< NUMA node that its memory is said to be, instead of what the driver says; -1: ask
  HostAccess simulated_access = HostAccess::none;       ///< of the simulated device
  std::size_t simulated_memory = std::size_t{1} << 30;  ///< bytes of the simulated device
  std::string simulated_rates;   ///< a clock of its own, see device/simulated/clock.h; "" for none
  std::string simulated_fault;   ///< tests: "[DEVICE/]OPERATION:N[:...]", see device/simulated/simulated_device.h
  int simulated_devices = 2;     ///< that there are
  bool simulated_slack = false;  ///< what lies behind its matrices can be read
};

/// The devices that the choice names, in order, each by a name that open() takes: "cuda:0,2" names two, and "cuda:all"
/// all that there are. Starts the driver where it has to count.
Result<std::vector<std::string>> list(const Choice& choice);

/// The name that such a device will have (Properties::name), as far as that can be told before it is opened; else "".
std::string expected_name(const std::string& kind);

/// Opens the device, which must be one; may take some tenths of a second, and more where many processes of a run do so
/// at once. Errors say what is missing and what to do about it.
Result<std::unique_ptr<Device>> open(const Choice& choice);

}  // namespace blastoff::device
