// Finds the largest magnitude among the reals of a matrix, or of one of its triangles, on the GPU. NaN counts as larger
// than infinity.
#pragma once

#include <cstdint>
#include <memory>

#include "blas/types.h"
#include "device/cuda/context.h"
#include "operation/operand.h"

namespace blastoff::device::cuda {

class MagnitudeKernel {
 public:
  /// Has the driver compile the kernels; the context must be current.
  static Result<std::unique_ptr<MagnitudeKernel>> load(std::shared_ptr<Context> context);
  ~MagnitudeKernel();
  MagnitudeKernel(const MagnitudeKernel&) = delete;
  MagnitudeKernel& operator=(const MagnitudeKernel&) = delete;

  /// Queues the search; the context must be current. `result` is a 64-bit word in device memory that only grows: the
  /// bits of the largest magnitude so far, see value(). The part of a matrix that is not square is `full`.
  Status launch(const operation::Operand& matrix, blas::Scalar scalar, api::CUdeviceptr result,
                api::CUstream stream) const;

  /// The real number that a result stands for.
  static double value(std::uint64_t bits, blas::Scalar scalar);

  /// The kernels' source, for the test that has NVIDIA's assembler check it.
  static const char* source();

 private:
  MagnitudeKernel(std::shared_ptr<Context> context, api::CUmodule module)
      : context_(std::move(context)), module_(module) {}

  std::shared_ptr<Context> context_;
  api::CUmodule module_;
  api::CUfunction reals4_ = nullptr;
  api::CUfunction reals8_ = nullptr;
};

}  // namespace blastoff::device::cuda
