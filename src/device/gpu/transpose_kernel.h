// Transposes a matrix on the GPU; complex elements are conjugated.
#pragma once

#include "blas/types.h"
#include "device/gpu/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::gpu {

class TransposeKernel : public LoadedKernel<TransposeKernel> {
 public:
  using LoadedKernel::LoadedKernel;
  static const WordKernelSource kernel_source;

  /// Queues the transposition; the context must be current. `to` has as many rows as `from` has columns, and as many
  /// columns as `from` has rows.
  Status launch(const operation::Operand& to, const operation::Operand& from, blas::Scalar scalar,
                StreamHandle stream) const;
};

}  // namespace blastoff::device::gpu
