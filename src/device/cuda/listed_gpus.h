// What the kernel's part of NVIDIA's driver says of the GPUs, without anything being opened.
#pragma once

#include <string>

namespace blastoff::device::cuda {

/// The name of this machine's GPUs; "" where they have several, or nobody lists them. `folder`: where the driver does
/// (https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/procinterface.html).
std::string listed_name(const std::string& folder = "/proc/driver/nvidia/gpus");

}  // namespace blastoff::device::cuda
