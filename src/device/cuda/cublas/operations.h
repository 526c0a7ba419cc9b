// Calls in cuBLAS's terms.
#pragma once

#include "blas/call.h"
#include "device/cuda/context.h"
#include "device/cuda/triangle_kernel.h"

namespace blastoff::device::cuda {

/// A cuBLAS handle for one stream, with a workspace of its own, so that no two streams wait for each other's.
/// Functions are to be called with the context current.
class BlasHandle {
 public:
  static Result<std::unique_ptr<BlasHandle>> create(std::shared_ptr<Context> context, api::CUstream stream,
                                                    std::size_t workspace_bytes);
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  /// Queues a call of any kind but gemmt. Operand addresses are device addresses.
  Status run(const blas::Call& call) const;

 private:
  explicit BlasHandle(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  Status configure(api::CUstream stream, std::size_t workspace_bytes);

  std::shared_ptr<Context> context_;
  api::cublasHandle handle_ = nullptr;
  api::CUdeviceptr workspace_ = 0;
};

}  // namespace blastoff::device::cuda
