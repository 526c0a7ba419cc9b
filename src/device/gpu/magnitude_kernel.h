// Finds the largest magnitude among the reals of a matrix, or of one of its triangles, on the GPU. NaN counts as larger
// than infinity.
#pragma once

#include <cstdint>

#include "blas/types.h"
#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

class MagnitudeKernel : public LoadedKernel<MagnitudeKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the search; the context must be current. `result` is a 64-bit word in device memory that only grows: the
  /// bits of the largest magnitude so far, see value(). A matrix that is not square must have the part `full`.
  Status launch(const operation::Operand& matrix, blas::Scalar scalar, Address result, StreamHandle stream) const;

  /// Converts the bits of a result to the real number.
  static double value(std::uint64_t bits, blas::Scalar scalar);
};

}  // namespace blastoff::device::gpu
