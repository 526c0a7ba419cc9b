// Blastoff's own kernels for solvers, compiled once for each device.
#pragma once

#include <memory>

#include "device/cuda/magnitude_kernel.h"
#include "device/cuda/norm_kernel.h"
#include "device/cuda/transpose_kernel.h"

namespace blastoff::device::cuda {

struct MatrixKernels {
  std::unique_ptr<MagnitudeKernel> magnitude;
  std::unique_ptr<NormKernel> norm;
  std::unique_ptr<TransposeKernel> transpose;
};

}  // namespace blastoff::device::cuda
