// Runs BLAS calls as calls of cuBLAS.
#pragma once

#include "blas/call.h"
#include "blas/vector_call.h"
#include "device/gpu/context.h"
#include "device/gpu/cuda/cublas/library.h"
#include "device/gpu/executor.h"
#include "device/gpu/memory.h"

namespace blastoff::device::gpu::cuda {

/// A cuBLAS handle for one stream, with its own workspace, so that streams do not wait for each other. The context must
/// be current in every function.
class BlasHandle {
 public:
  /// `cublas` must outlive it.
  static Result<std::unique_ptr<BlasHandle>> create(const api::Cublas& cublas, const ExecutorStream& stream);
  ~BlasHandle();
  BlasHandle(const BlasHandle&) = delete;
  BlasHandle& operator=(const BlasHandle&) = delete;

  /// Queues a call of any kind but gemmt and batches of solves. Operand addresses are device addresses.
  Status run(const blas::Call& call) const;
  Status run(const blas::VectorCall& call) const;
  /// Queues a batch of solves. `addresses`: in device memory, those of the triangles, then those of the right-hand
  /// sides.
  Status run_solves(const blas::Call& batch, Address addresses) const;

  /// Queue the copy of a triangle from or to packed storage. The part of `matrix`, a square matrix, says which
  /// triangle.
  Status unpack(const operation::Operand& matrix, const void* packed, blas::Scalar scalar) const;
  Status pack(void* packed, const operation::Operand& matrix, blas::Scalar scalar) const;

 private:
  BlasHandle(const api::Cublas& cublas, const ExecutorStream& stream)
      : cublas_(cublas), context_(stream.context), memory_(stream.memory) {}
  Status configure(StreamHandle stream, std::size_t workspace_bytes);

  /// Turns a status into a Status. Every error except lack of memory or of support loses the device.
  Status check(api::cublasStatus status, std::string_view operation) const;

  const api::Cublas& cublas_;
  std::shared_ptr<Context> context_;
  api::cublasHandle handle_ = nullptr;
  std::shared_ptr<Memory> memory_;
  PooledMemory workspace_;  // outlives the handle
};

}  // namespace blastoff::device::gpu::cuda
