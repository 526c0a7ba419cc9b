// Blastoff's own kernels, as modules of PTX, which the driver compiles for the GPU. The sources of
// device/gpu/*_kernel.cpp launch them.
#pragma once

#include "device/gpu/driver.h"

namespace blastoff::device::gpu::cuda {

extern const KernelModules kernels;

}  // namespace blastoff::device::gpu::cuda
