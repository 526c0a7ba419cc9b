// Which libraries show that the program itself uses CUDA.
#pragma once

#include "device/driver_sharing.h"

namespace blastoff::device::cuda {

/// `used`: the CUDA runtime, whoever brought it; the driver, opened or needed by anything but its own parts, NVIDIA's
/// mathematical libraries (which we open ourselves) and the communication libraries that merely stand ready for a
/// program that uses CUDA: these show `ready`. (The runtime, also one that is linked statically, opens the driver by
/// dlopen at its first use.)
DriverUse cuda_use(const LibraryInProcess& library);

}  // namespace blastoff::device::cuda
