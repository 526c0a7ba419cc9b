// Which libraries show that the program itself uses CUDA.
#pragma once

#include "device/driver_sharing.h"

namespace blastoff::device::gpu::cuda {

/// `used`: the CUDA runtime, whoever brought it; or the driver, if an object opens or needs it. Exempt are the driver's
/// own parts, NVIDIA's mathematical libraries (which Blastoff opens itself), and communication libraries, which merely
/// stand ready for a program that uses CUDA: these show `ready`. (The runtime, even if it is linked statically, opens
/// the driver by dlopen when it is first used.)
DriverUse cuda_use(const LibraryInProcess& library);

/// Whether the driver names its own threads so: "cuda-EvtHandlr", or as "cuda00001400006".
bool is_name_of_drivers_thread(std::string_view name);

}  // namespace blastoff::device::gpu::cuda
