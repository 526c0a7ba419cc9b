// What the kernel module of NVIDIA's driver tells about the GPUs before anything is opened.
#pragma once

#include <string>

#include "device/open.h"

namespace blastoff::device::gpu::cuda {

/// This machine's GPUs; without a name if they have different ones. `folder`: the driver's list
/// (https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README/procinterface.html).
Expected listed_gpus(const std::string& folder = "/proc/driver/nvidia/gpus");

}  // namespace blastoff::device::gpu::cuda
