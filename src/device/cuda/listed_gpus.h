// What the kernel module of NVIDIA's driver tells about the GPUs before anything is opened.
#pragma once

#include <string>

namespace blastoff::device::cuda {

/// The name of this machine's GPUs; "" if they have different names, or if no list exists. `folder`: the driver's list
/// (https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/procinterface.html).
std::string listed_name(const std::string& folder = "/proc/driver/nvidia/gpus");

}  // namespace blastoff::device::cuda
