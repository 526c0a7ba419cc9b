// Finds the largest magnitude among the reals of a matrix, or of one of its triangles, on the GPU. NaN counts as larger
// than infinity.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "blas/types.h"
#include "device/cuda/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

class MagnitudeKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<MagnitudeKernel>> load(std::shared_ptr<Context> context);

  /// Queues the search; the context must be current. `result` is a 64-bit word in device memory that only grows: the
  /// bits of the largest magnitude so far, see value(). A matrix that is not square must have the part `full`.
  Status launch(const operation::Operand& matrix, blas::Scalar scalar, api::CUdeviceptr result,
                api::CUstream stream) const;

  /// Converts the bits of a result to the real number.
  static double value(std::uint64_t bits, blas::Scalar scalar);

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  explicit MagnitudeKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  WordKernels kernels_;
};

}  // namespace blastoff::device::cuda
