#include "device/gpu/cuda/cublas/operations.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "blas/batch.h"
#include "device/gpu/cuda/cublas/words.h"

namespace blastoff::device::gpu::cuda {
namespace {

using blas::Kind;

/// The absolute increment of a vector is stored as its leading dimension. A negative increment counts from the end, as
/// in BLAS.
api::cublasStatus queue_vector_product(const api::Cublas& blas, api::cublasHandle handle, const blas::Call& call) {
  const auto scalar = call.scalar();
  const auto type = static_cast<std::size_t>(scalar);
  const HostScalar alpha(call.alpha, scalar);
  const HostScalar beta(call.beta, scalar);
  const auto& a = call.operand_storage[0];
  const auto& x = call.operand_storage[1];
  const auto& y = call.result();
  const api::Size incx = call.reversed_x ? -x.leading_dimension : x.leading_dimension;
  const api::Size incy = call.reversed_y ? -y.leading_dimension : y.leading_dimension;
  if (call.kind() == Kind::gemv)
    return blas.gemv[type](handle, operation(call.transpose_a, scalar), call.m, call.n, alpha.address(), a.address,
                           a.leading_dimension, x.address, incx, beta.address(), y.address, incy);
  const auto& symmetric = call.kind() == Kind::symv ? blas.symv : blas.hemv;
  return symmetric[type](handle, fill(call), call.n, alpha.address(), a.address, a.leading_dimension, x.address, incx,
                         beta.address(), y.address, incy);
}

api::cublasStatus queue_vectors(const api::Cublas& blas, api::cublasHandle handle, const blas::VectorCall& call) {
  const blas::VectorRoutineRow& of = call.row();
  const auto type = static_cast<std::size_t>(of.scalar);
  const HostScalar alpha({call.alpha[0], call.alpha[1]}, of.scalar);
  const auto& [x, y] = call.x_and_y;
  switch (of.kind) {
    case blas::VectorKind::swap: return blas.swap[type](handle, call.n, x.address, x.increment, y.address, y.increment);
    case blas::VectorKind::copy: return blas.copy[type](handle, call.n, x.address, x.increment, y.address, y.increment);
    case blas::VectorKind::scal: {
      const auto& scal = of.factor == of.scalar ? blas.scal : blas.real_scal;
      return scal[type](handle, call.n, alpha.address(), x.address, x.increment);
    }
    case blas::VectorKind::axpy:
      return blas.axpy[type](handle, call.n, alpha.address(), x.address, x.increment, y.address, y.increment);
  }
  return api::blas_not_supported;
}

api::cublasStatus queue_batch(const api::Cublas& blas, api::cublasHandle handle, const blas::Call& call) {
  const auto scalar = call.scalar();
  const HostScalar alpha(call.alpha, scalar);
  const HostScalar beta(call.beta, scalar);
  const blas::Matrices a = blas::matrices(call, 0);
  const blas::Matrices b = blas::matrices(call, 1);
  const blas::Matrices c = blas::matrices(call, 2);
  return blas.gemm_batch_strided[static_cast<std::size_t>(scalar)](
      handle, operation(call.transpose_a, scalar), operation(call.transpose_b, scalar), call.m, call.n, call.k,
      alpha.address(), a.first.address, a.first.leading_dimension, a.stride, b.first.address, b.first.leading_dimension,
      b.stride, beta.address(), c.first.address, c.first.leading_dimension, c.stride, call.products);
}

api::cublasStatus queue_operation(const api::Cublas& blas, api::cublasHandle handle, const blas::Call& call) {
  const auto scalar = call.scalar();
  const auto type = static_cast<std::size_t>(scalar);
  const HostScalar alpha(call.alpha, scalar);
  const HostScalar beta(call.beta, scalar);
  const auto& a = call.operand_storage[0];
  const auto& b = call.operand_storage[1];
  const auto& c = call.result();
  const int op_a = operation(call.transpose_a, scalar);
  const auto symmetric = [&](auto* routine) {
    return routine(handle, side(call), fill(call), call.m, call.n, alpha.address(), a.address, a.leading_dimension,
                   b.address, b.leading_dimension, beta.address(), c.address, c.leading_dimension);
  };
  const auto rank_k = [&](auto* routine) {
    return routine(handle, fill(call), op_a, call.n, call.k, alpha.address(), a.address, a.leading_dimension,
                   beta.address(), c.address, c.leading_dimension);
  };
  const auto rank_2k = [&](auto* routine) {
    return routine(handle, fill(call), op_a, call.n, call.k, alpha.address(), a.address, a.leading_dimension, b.address,
                   b.leading_dimension, beta.address(), c.address, c.leading_dimension);
  };
  switch (call.kind()) {
    case Kind::gemm:
      return blas.gemm[type](handle, op_a, operation(call.transpose_b, scalar), call.m, call.n, call.k, alpha.address(),
                             a.address, a.leading_dimension, b.address, b.leading_dimension, beta.address(), c.address,
                             c.leading_dimension);
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided: return queue_batch(blas, handle, call);
    case Kind::symm: return symmetric(blas.symm[type]);
    case Kind::hemm: return symmetric(blas.hemm[type]);
    case Kind::syrk: return rank_k(blas.syrk[type]);
    case Kind::herk: return rank_k(blas.herk[type]);
    case Kind::syr2k: return rank_2k(blas.syr2k[type]);
    case Kind::her2k: return rank_2k(blas.her2k[type]);
    case Kind::trmm:  // B := op(A) B. cuBLAS writes to a third matrix, which may be B
      return blas.trmm[type](handle, side(call), fill(call), op_a, diagonal(call), call.m, call.n, alpha.address(),
                             a.address, a.leading_dimension, c.address, c.leading_dimension, c.address,
                             c.leading_dimension);
    case Kind::trsm:
      return blas.trsm[type](handle, side(call), fill(call), op_a, diagonal(call), call.m, call.n, alpha.address(),
                             a.address, a.leading_dimension, c.address, c.leading_dimension);
    case Kind::gemv:
    case Kind::symv:
    case Kind::hemv: return queue_vector_product(blas, handle, call);
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided:
    case Kind::gemmt: break;
  }
  return api::blas_not_supported;
}

int fill(const operation::Operand& matrix) {
  return matrix.part == operation::Part::upper ? api::fill_upper : api::fill_lower;
}

/// The routines take sizes of 32 bits. Whether they can address elements beyond that is not documented.
Status require_near_elements(const operation::Operand& matrix) {
  constexpr std::int64_t max_columns = 46340;  // its square has 31 bits
  if (std::max(matrix.columns, matrix.leading_dimension) <= max_columns) return {};
  return tl::unexpected(Error{ErrorKind::unsupported, "cuBLAS's packed matrices have no 64-bit interface"});
}

}  // namespace

Result<std::unique_ptr<BlasHandle>> BlasHandle::create(const api::Cublas& cublas, const ExecutorStream& stream) {
  std::unique_ptr<BlasHandle> handle(new BlasHandle(cublas, stream));
  if (auto ok = handle->configure(stream.stream, stream.workspace_bytes); !ok) return tl::unexpected(ok.error());
  return handle;
}

Status BlasHandle::configure(StreamHandle stream, std::size_t workspace_bytes) {
  const auto& blas = cublas_;
  if (auto ok = check(blas.cublasCreate_v2(&handle_), "cublasCreate"); !ok) return ok;
  if (auto ok = check(blas.cublasSetStream_v2(handle_, stream), "cublasSetStream"); !ok) return ok;
  if (auto ok = memory_->grow(workspace_, workspace_bytes, stream); !ok) return ok;
  // Done after the stream is set, because setting the stream restores the default workspace.
  const auto workspace = reinterpret_cast<void*>(static_cast<std::uintptr_t>(workspace_.address()));
  if (auto ok = check(blas.cublasSetWorkspace_v2(handle_, workspace, workspace_bytes), "cublasSetWorkspace"); !ok) {
    return ok;
  }
  // Full precision, reproducible sums: no TF32, no emulation.
  const int math = api::math_default | api::math_disallow_reduced_precision_reduction;
  if (auto ok = check(blas.cublasSetMathMode(handle_, math), "cublasSetMathMode"); !ok) return ok;
  if (auto ok = check(blas.cublasSetPointerMode_v2(handle_, api::pointer_mode_host), "cublasSetPointerMode"); !ok) {
    return ok;
  }
  return check(blas.cublasSetAtomicsMode(handle_, api::atomics_not_allowed), "cublasSetAtomicsMode");
}

BlasHandle::~BlasHandle() {
  if (handle_ != nullptr) cublas_.cublasDestroy_v2(handle_);
}

Status BlasHandle::check(api::cublasStatus status, std::string_view operation) const {
  if (status == api::blas_success) [[likely]]
    return {};
  auto message = fmt::format("{}: {}", operation, cublas_.cublasGetStatusName(status));
  if (status == api::blas_alloc_failed) return tl::unexpected(Error{ErrorKind::out_of_memory, std::move(message)});
  if (status == api::blas_not_supported || status == api::blas_arch_mismatch)
    return tl::unexpected(Error{ErrorKind::unsupported, std::move(message)});
  return tl::unexpected(context_->lose(std::move(message)));
}

Status BlasHandle::run(const blas::Call& call) const {
  return check(queue_operation(cublas_, handle_, call), blas::row(call.routine).name);
}

Status BlasHandle::run(const blas::VectorCall& call) const {
  return check(queue_vectors(cublas_, handle_, call), call.row().name);
}

Status BlasHandle::run_solves(const blas::Call& batch, Address addresses) const {
  const auto scalar = batch.scalar();
  const HostScalar alpha(batch.alpha, scalar);
  const auto* const a = reinterpret_cast<const void* const*>(static_cast<std::uintptr_t>(addresses));
  auto* const b = reinterpret_cast<void* const*>(static_cast<std::uintptr_t>(addresses)) + batch.products;
  return check(cublas_.trsm_batch[static_cast<std::size_t>(scalar)](
                   handle_, side(batch), fill(batch), operation(batch.transpose_a, scalar), diagonal(batch), batch.m,
                   batch.n, alpha.address(), a, blas::matrices(batch, 0).first.leading_dimension, b,
                   blas::matrices(batch, 1).first.leading_dimension, batch.products),
               blas::row(batch.routine).name);
}

Status BlasHandle::unpack(const operation::Operand& matrix, const void* packed, blas::Scalar scalar) const {
  if (auto ok = require_near_elements(matrix); !ok) return ok;
  return check(
      cublas_.tpttr[static_cast<std::size_t>(scalar)](handle_, fill(matrix), static_cast<int>(matrix.columns), packed,
                                                      matrix.address, static_cast<int>(matrix.leading_dimension)),
      "tpttr");
}

Status BlasHandle::pack(void* packed, const operation::Operand& matrix, blas::Scalar scalar) const {
  if (auto ok = require_near_elements(matrix); !ok) return ok;
  return check(cublas_.trttp[static_cast<std::size_t>(scalar)](handle_, fill(matrix), static_cast<int>(matrix.columns),
                                                               matrix.address,
                                                               static_cast<int>(matrix.leading_dimension), packed),
               "trttp");
}

}  // namespace blastoff::device::gpu::cuda
