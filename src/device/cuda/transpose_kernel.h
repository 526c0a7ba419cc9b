// Transposes a matrix on the GPU; complex elements are conjugated.
#pragma once

#include <memory>

#include "blas/types.h"
#include "device/cuda/context.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

class TransposeKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<TransposeKernel>> load(std::shared_ptr<Context> context);
  ~TransposeKernel();
  TransposeKernel(const TransposeKernel&) = delete;
  TransposeKernel& operator=(const TransposeKernel&) = delete;

  /// Queues it; the context must be current. `to` has as many rows as `from` has columns, and the reverse.
  Status launch(const operation::Operand& to, const operation::Operand& from, blas::Scalar scalar,
                api::CUstream stream) const;

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  TransposeKernel(std::shared_ptr<Context> context, api::CUmodule module)
      : context_(std::move(context)), module_(module) {}

  std::shared_ptr<Context> context_;
  api::CUmodule module_;
  api::CUfunction reals4_ = nullptr;
  api::CUfunction reals8_ = nullptr;
};

}  // namespace blastoff::device::cuda
