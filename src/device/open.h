// Opens devices by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/device.h"
#include "device/kinds.h"

namespace blastoff::device {

/// Which device to open, and how. Accepted names: those of device/kinds.def.
struct Choice {
  std::string name{default_kind.name};
  std::string toolkit_path;   ///< extra directory that is searched first for a GPU's libraries, may be empty
  int local_rank = -1;        ///< rank among the processes of the job on this node, -1 if unknown
  int local_size = 1;         ///< number of processes of the job on this node
  std::string run_directory;  ///< where processes of the run meet (platform/peers.h); "" if there is none
  int memory_node = -1;       ///< NUMA node that counts as the device's memory; -1: the one that the driver names
  HostAccess simulated_access = HostAccess::none;       ///< of simulated devices
  std::size_t simulated_memory = std::size_t{1} << 30;  ///< bytes of each simulated device
  std::string simulated_rates;                          ///< clock of its own, see device/simulated/clock.h; "" for none
  std::string simulated_fault;   ///< for tests: "[DEVICE/]OPERATION:N[:...]", see device/simulated/simulated_device.h
  int simulated_devices = 2;     ///< number of simulated devices
  bool simulated_slack = false;  ///< memory behind its matrices can be read
};

/// Names of the devices that the choice means, in order, as open() takes them: "cuda:0,2" means two devices, "cuda:all"
/// all of them. Starts the driver if it has to count devices.
Result<std::vector<std::string>> list(const Choice& choice);

/// What can be told of a machine's devices before one is opened.
struct Expected {
  std::string name;  ///< the name that all of them have (Properties::name); "" if it cannot be told
  int devices = 0;   ///< 0 if they cannot be counted
};
Expected expected(const std::string& name);

/// Why this machine has no such device, and what to do then; "" if it may have one. Opens none.
std::string absence(const std::string& name);

/// How many of the `local_size` ranks on this node will share each of its `devices` (Expected), if their devices are
/// named like that; see Properties::sharers. If that cannot be told, or each rank may have devices of its own: 1.
int expected_sharers(const std::string& name, int devices, int local_size);

/// Opens the device; `choice` must name one. May take some tenths of a second, and more if many processes of a run open
/// devices at once. Errors say what is missing and what to do about it.
Result<std::unique_ptr<Device>> open(const Choice& choice);

}  // namespace blastoff::device
