// The places of devices on the PCI bus.
#pragma once

#include <optional>
#include <string>

namespace blastoff::platform {

/// How many of the process's CPUs are near the device (named like "0000:17:00.0"): on its NUMA node, as the firmware
/// tells. nullopt if the kernel does not know. `devices`: the folder in which the kernel lists devices.
std::optional<int> own_cpus_near(const std::string& device, const std::string& devices = "/sys/bus/pci/devices");

}  // namespace blastoff::platform
