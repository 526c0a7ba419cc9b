// Blastoff's own kernels for solvers, compiled once for each device.
#pragma once

#include <memory>

#include "device/gpu/magnitude_kernel.h"
#include "device/gpu/norm_kernel.h"
#include "device/gpu/transpose_kernel.h"

namespace blastoff::device::gpu::cuda {

struct MatrixKernels {
  std::unique_ptr<MagnitudeKernel> magnitude;
  std::unique_ptr<NormKernel> norm;
  std::unique_ptr<TransposeKernel> transpose;
};

}  // namespace blastoff::device::gpu::cuda
