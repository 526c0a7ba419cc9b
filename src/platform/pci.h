// Where devices of the PCI bus are.
#pragma once

#include <optional>
#include <string>

namespace blastoff::platform {

/// How many of the process's CPUs are near the device "0000:17:00.0": on its NUMA node, as the firmware tells. Nothing
/// if the kernel does not know. `devices`: where it lists them.
std::optional<int> own_cpus_near(const std::string& device, const std::string& devices = "/sys/bus/pci/devices");

}  // namespace blastoff::platform
