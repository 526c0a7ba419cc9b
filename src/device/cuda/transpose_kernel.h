// Transposes a matrix on the GPU; complex elements are conjugated.
#pragma once

#include <memory>
#include <utility>

#include "blas/types.h"
#include "device/cuda/word_kernels.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

class TransposeKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<TransposeKernel>> load(std::shared_ptr<Context> context);

  /// Queues the transposition; the context must be current. `to` has as many rows as `from` has columns, and as many
  /// columns as `from` has rows.
  Status launch(const operation::Operand& to, const operation::Operand& from, blas::Scalar scalar,
                api::CUstream stream) const;

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  explicit TransposeKernel(WordKernels kernels) : kernels_(std::move(kernels)) {}

  WordKernels kernels_;
};

}  // namespace blastoff::device::cuda
