// A libcublas.so.13 for the fake GPU: the plain reference BLAS, run on the stream's thread.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>

#include "blas/batch.h"
#include "blas/vector_call.h"
#include "fake_cuda/blas.h"
#include "fake_cuda/gpu.h"
#include "reference_blas.h"
#include "reference_vectors.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in cuBLAS's own words
namespace blas = blastoff::blas;
namespace fake = blastoff::fake_cuda;
using fake::coefficient;
using fake::driver;
using fake::find_routine;
using fake::transpose;

namespace blastoff::device::gpu::cuda::api {
struct CublasHandle {
  CUstream stream = nullptr;
  bool own_workspace = false;
};
}  // namespace blastoff::device::gpu::cuda::api

namespace {

constexpr cublasStatus not_initialized = 1;
constexpr cublasStatus invalid_value = 7;

struct Matrix {
  const void* address;
  Size leading_dimension;
};

/// `strides`: of a batch.
cublasStatus queue(cublasHandle handle, blas::Call call, std::initializer_list<Matrix> matrices,
                   std::array<std::int64_t, 3> strides = {}) {
  if (!driver().context_is_current() || handle == nullptr) return not_initialized;
  if (handle->stream == nullptr || !handle->own_workspace) return invalid_value;  // device/gpu always sets both
  std::array<void*, 3> addresses{};
  std::array<std::int64_t, 3> leading_dimensions{};
  std::size_t count = 0;
  for (const auto& matrix : matrices) {
    addresses[count] = const_cast<void*>(matrix.address);
    leading_dimensions[count++] = matrix.leading_dimension;
  }
  blas::shape_operands(call, {addresses.data(), count}, {leading_dimensions.data(), count});
  if (!blas::valid(call)) return invalid_value;
  if (is_batch(call.kind())) stack(call, strides);
  if (is_scattered(call)) return blas_not_supported;
  driver().post(handle->stream, [call] {
    if (driver().meet("own")) return;
    for (const auto& operand : call.operands()) {
      if (!driver().is_usable(operand.address, operand.span_bytes())) {
        driver().fail(fake::error_illegal_address);
        return;
      }
    }
    blastoff::reference::compute(call);
  });
  return blas_success;
}

blas::Call make_call(blas::Kind kind, blas::Scalar scalar, Size m, Size n, Size k, const void* alpha,
                     const void* beta) {
  blas::Call call;
  call.routine = find_routine(kind, scalar);
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = coefficient(alpha, scalar, kind == blas::Kind::herk);
  if (beta != nullptr) {
    call.beta = coefficient(beta, scalar, kind == blas::Kind::herk || kind == blas::Kind::her2k);
  }
  return call;
}

void set_fill(blas::Call& call, int side, int fill) {
  call.side = side == side_left ? blas::Side::left : blas::Side::right;
  call.uplo = fill == fill_upper ? blas::Uplo::upper : blas::Uplo::lower;
}

cublasStatus general(blas::Kind kind, blas::Scalar scalar, cublasHandle handle, int transpose_a, int transpose_b,
                     Size m, Size n, Size k, const void* alpha, Matrix a, Matrix b, const void* beta, Matrix c) {
  auto call = make_call(kind, scalar, m, n, k, alpha, beta);
  call.transpose_a = transpose(transpose_a);
  call.transpose_b = transpose(transpose_b);
  return queue(handle, call, {a, b, c});
}

cublasStatus symmetric(blas::Kind kind, blas::Scalar scalar, cublasHandle handle, int side, int fill, Size m, Size n,
                       const void* alpha, Matrix a, Matrix b, const void* beta, Matrix c) {
  auto call = make_call(kind, scalar, m, n, side == side_left ? m : n, alpha, beta);
  set_fill(call, side, fill);
  return queue(handle, call, {a, b, c});
}

cublasStatus rank_update(blas::Kind kind, blas::Scalar scalar, cublasHandle handle, int fill, int operation, Size n,
                         Size k, const void* alpha, const void* beta, std::initializer_list<Matrix> matrices) {
  auto call = make_call(kind, scalar, n, n, k, alpha, beta);
  set_fill(call, side_left, fill);
  call.transpose_a = transpose(operation);
  return queue(handle, call, matrices);
}

/// A vector in cuBLAS's form, as a matrix: the magnitude of its increment is the leading dimension, and its sign says
/// at which end the vector begins.
Matrix vector(const void* address, Size increment) {
  return {address, increment < 0 ? -increment : increment};
}

cublasStatus vector_product(blas::Call call, cublasHandle handle, Matrix a, const void* x, Size incx, const void* y,
                            Size incy) {
  call.reversed_x = incx < 0;
  call.reversed_y = incy < 0;
  return queue(handle, call, {a, vector(x, incx), vector(y, incy)});
}

cublasStatus triangular(blas::Kind kind, blas::Scalar scalar, cublasHandle handle, int side, int fill, int operation,
                        int diagonal, Size m, Size n, const void* alpha, Matrix a, Matrix b) {
  auto call = make_call(kind, scalar, m, n, side == side_left ? m : n, alpha, nullptr);
  set_fill(call, side, fill);
  call.transpose_a = transpose(operation);
  call.diagonal = diagonal == diagonal_unit ? blas::Diagonal::unit : blas::Diagonal::non_unit;
  return queue(handle, call, {a, b});
}

/// `a`, `b`: arrays of addresses in device memory.
cublasStatus solves(blas::Scalar scalar, cublasHandle handle, int side, int fill, int operation, int diagonal, Size m,
                    Size n, const void* alpha, const void* const* a, Size lda, void* const* b, Size ldb, Size count) {
  if (!driver().context_is_current() || handle == nullptr) return not_initialized;
  if (handle->stream == nullptr || !handle->own_workspace) return invalid_value;
  auto call = make_call(blas::Kind::trsm, scalar, m, n, side == side_left ? m : n, alpha, nullptr);
  set_fill(call, side, fill);
  call.transpose_a = transpose(operation);
  call.diagonal = diagonal == diagonal_unit ? blas::Diagonal::unit : blas::Diagonal::non_unit;
  driver().post(handle->stream, [=]() mutable {
    const auto bytes = static_cast<std::size_t>(count) * sizeof(void*);
    bool usable = driver().is_device_memory(a, bytes) && driver().is_device_memory(b, bytes);
    for (Size i = 0; usable && i < count; ++i) {
      const std::array<void*, 2> addresses{const_cast<void*>(a[i]), b[i]};
      const std::array<std::int64_t, 2> leading_dimensions{lda, ldb};
      blas::shape_operands(call, addresses, leading_dimensions);
      for (const auto& operand : call.operands())
        usable = usable && driver().is_usable(operand.address, operand.span_bytes());
      if (usable) blastoff::reference::compute(call);
    }
    if (!usable) driver().fail(fake::error_illegal_address);
  });
  return blas_success;
}

/// The type of alpha in the routine of a member of api::Cublas.
blas::Scalar factor_of(std::string_view member, blas::Scalar scalar) {
  if (!member.ends_with("real_scal")) return scalar;
  return scalar == blas::Scalar::c ? blas::Scalar::s : blas::Scalar::d;
}

cublasStatus queue_vectors(blas::VectorKind kind, blas::Scalar scalar, blas::Scalar factor, cublasHandle handle, Size n,
                           const void* alpha, blas::Vector x, blas::Vector y = {}) {
  if (!driver().context_is_current() || handle == nullptr) return not_initialized;
  if (handle->stream == nullptr || n < 0) return invalid_value;
  std::size_t routine = 0;
  for (const blas::VectorRoutineRow& row : blas::vector_routine_table) {
    if (row.kind == kind && row.scalar == scalar && row.factor == factor) break;
    ++routine;
  }
  blas::VectorCall call{.routine = static_cast<blas::VectorRoutine>(routine), .n = n};
  call.x_and_y = {x, y};
  if (alpha != nullptr) {
    const blas::Coefficient value = coefficient(alpha, factor, false);
    call.alpha = {value.real(), value.imag()};
  }
  driver().post(handle->stream, [call] {
    for (const blas::Vector& vector : call.vectors()) {
      const auto elements = static_cast<std::size_t>((call.n - 1) * std::abs(vector.increment) + 1);
      if (driver().is_usable(vector.address, elements * blas::element_size(call.row().scalar))) continue;
      driver().fail(fake::error_illegal_address);
      return;
    }
    blastoff::reference::compute(call);
  });
  return blas_success;
}

struct PackedCopy {
  const char* from;
  char* to;
  Size n;
  Size leading_dimension;  ///< the matrix's
  std::size_t element_bytes;
  bool upper;
  bool packs;  ///< `to` is packed; otherwise `from` is
};

void copy(const PackedCopy& copy) {
  std::size_t packed = 0;
  for (Size j = 0; j < copy.n; ++j) {
    const Size first = copy.upper ? 0 : j;
    const auto bytes = static_cast<std::size_t>(copy.upper ? j + 1 : copy.n - j) * copy.element_bytes;
    const auto column = static_cast<std::size_t>(j * copy.leading_dimension + first) * copy.element_bytes;
    std::memcpy(copy.to + (copy.packs ? packed : column), copy.from + (copy.packs ? column : packed), bytes);
    packed += bytes;
  }
}

cublasStatus copy_packed(blas::Scalar scalar, cublasHandle handle, int fill, int n, const void* from, void* to,
                         int leading_dimension, bool packs) {
  if (!driver().context_is_current() || handle == nullptr) return not_initialized;
  if (handle->stream == nullptr || n < 0 || leading_dimension < std::max(1, n)) return invalid_value;
  const PackedCopy task{.from = static_cast<const char*>(from),
                        .to = static_cast<char*>(to),
                        .n = n,
                        .leading_dimension = leading_dimension,
                        .element_bytes = blas::element_size(scalar),
                        .upper = fill == fill_upper,
                        .packs = packs};
  driver().post(handle->stream, [task] {
    const auto packed_bytes = static_cast<std::size_t>(task.n * (task.n + 1) / 2) * task.element_bytes;
    const auto matrix_bytes =
        static_cast<std::size_t>(task.leading_dimension * (task.n - 1) + task.n) * task.element_bytes;
    if (driver().is_usable(task.from, task.packs ? matrix_bytes : packed_bytes) &&
        driver().is_usable(task.to, task.packs ? packed_bytes : matrix_bytes)) {
      copy(task);
    } else {
      driver().fail(fake::error_illegal_address);
    }
  });
  return blas_success;
}

}  // namespace

extern "C" {

cublasStatus cublasCreate_v2(cublasHandle* handle) {
  if (!driver().context_is_current()) return not_initialized;
  *handle = new CublasHandle;
  return blas_success;
}
cublasStatus cublasDestroy_v2(cublasHandle handle) {
  delete handle;
  return blas_success;
}
cublasStatus cublasGetProperty(int, int* value) {
  *value = 13;
  return blas_success;
}
const char* cublasGetStatusName(cublasStatus) {
  return "CUBLAS_STATUS_OF_THE_FAKE_GPU";
}
cublasStatus cublasSetStream_v2(cublasHandle handle, CUstream stream) {
  handle->stream = stream;
  handle->own_workspace = false;
  return blas_success;
}
cublasStatus cublasSetWorkspace_v2(cublasHandle handle, void* workspace, std::size_t bytes) {
  handle->own_workspace = driver().is_device_memory(workspace, bytes);
  return handle->own_workspace ? blas_success : invalid_value;
}
cublasStatus cublasSetMathMode(cublasHandle, int) {
  return blas_success;
}
cublasStatus cublasSetPointerMode_v2(cublasHandle, int mode) {
  return mode == pointer_mode_host ? blas_success : invalid_value;
}
cublasStatus cublasSetAtomicsMode(cublasHandle, int) {
  return blas_success;
}

// One exported function for each routine, by signature.
#define BLASTOFF_EXPORT_Gemm(symbol, kind, scalar)                                                                    \
  cublasStatus symbol(cublasHandle handle, int transpose_a, int transpose_b, Size m, Size n, Size k,                  \
                      const void* alpha, const void* a, Size lda, const void* b, Size ldb, const void* beta, void* c, \
                      Size ldc) {                                                                                     \
    return general(kind, scalar, handle, transpose_a, transpose_b, m, n, k, alpha, {a, lda}, {b, ldb}, beta,          \
                   {c, ldc});                                                                                         \
  }
#define BLASTOFF_EXPORT_GemmStridedBatched(symbol, kind, scalar)                                                    \
  cublasStatus symbol(cublasHandle handle, int transpose_a, int transpose_b, Size m, Size n, Size k,                \
                      const void* alpha, const void* a, Size lda, long long stride_a, const void* b, Size ldb,      \
                      long long stride_b, const void* beta, void* c, Size ldc, long long stride_c, Size products) { \
    auto call = make_call(kind, scalar, m, n, k, alpha, beta);                                                      \
    call.transpose_a = transpose(transpose_a);                                                                      \
    call.transpose_b = transpose(transpose_b);                                                                      \
    call.products = products;                                                                                       \
    return queue(handle, call, {{a, lda}, {b, ldb}, {c, ldc}}, {stride_a, stride_b, stride_c});                     \
  }
#define BLASTOFF_EXPORT_Symm(symbol, kind, scalar)                                                               \
  cublasStatus symbol(cublasHandle handle, int side, int fill, Size m, Size n, const void* alpha, const void* a, \
                      Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc) {                  \
    return symmetric(kind, scalar, handle, side, fill, m, n, alpha, {a, lda}, {b, ldb}, beta, {c, ldc});         \
  }
#define BLASTOFF_EXPORT_Syrk(symbol, kind, scalar)                                                                    \
  cublasStatus symbol(cublasHandle handle, int fill, int operation, Size n, Size k, const void* alpha, const void* a, \
                      Size lda, const void* beta, void* c, Size ldc) {                                                \
    return rank_update(kind, scalar, handle, fill, operation, n, k, alpha, beta, {{a, lda}, {c, ldc}});               \
  }
#define BLASTOFF_EXPORT_Syr2k(symbol, kind, scalar)                                                                   \
  cublasStatus symbol(cublasHandle handle, int fill, int operation, Size n, Size k, const void* alpha, const void* a, \
                      Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc) {                       \
    return rank_update(kind, scalar, handle, fill, operation, n, k, alpha, beta, {{a, lda}, {b, ldb}, {c, ldc}});     \
  }
#define BLASTOFF_EXPORT_Trmm(symbol, kind, scalar)                                                              \
  cublasStatus symbol(cublasHandle handle, int side, int fill, int operation, int diagonal, Size m, Size n,     \
                      const void* alpha, const void* a, Size lda, const void* b, Size ldb, void* c, Size ldc) { \
    if (b != c || ldb != ldc) return blas_not_supported;                                                        \
    return triangular(kind, scalar, handle, side, fill, operation, diagonal, m, n, alpha, {a, lda}, {c, ldc});  \
  }
#define BLASTOFF_EXPORT_Trsm(symbol, kind, scalar)                                                             \
  cublasStatus symbol(cublasHandle handle, int side, int fill, int operation, int diagonal, Size m, Size n,    \
                      const void* alpha, const void* a, Size lda, void* b, Size ldb) {                         \
    return triangular(kind, scalar, handle, side, fill, operation, diagonal, m, n, alpha, {a, lda}, {b, ldb}); \
  }
#define BLASTOFF_EXPORT_TrsmBatched(symbol, kind, scalar)                                                        \
  cublasStatus symbol(cublasHandle handle, int side, int fill, int operation, int diagonal, Size m, Size n,      \
                      const void* alpha, const void* const* a, Size lda, void* const* b, Size ldb, Size count) { \
    return solves(scalar, handle, side, fill, operation, diagonal, m, n, alpha, a, lda, b, ldb, count);          \
  }
#define BLASTOFF_EXPORT_Gemv(symbol, kind, scalar)                                                                    \
  cublasStatus symbol(cublasHandle handle, int operation, Size m, Size n, const void* alpha, const void* a, Size lda, \
                      const void* x, Size incx, const void* beta, void* y, Size incy) {                               \
    auto call = make_call(kind, scalar, m, n, n, alpha, beta);                                                        \
    call.transpose_a = transpose(operation);                                                                          \
    return vector_product(call, handle, {a, lda}, x, incx, y, incy);                                                  \
  }
#define BLASTOFF_EXPORT_Symv(symbol, kind, scalar)                                                       \
  cublasStatus symbol(cublasHandle handle, int fill, Size n, const void* alpha, const void* a, Size lda, \
                      const void* x, Size incx, const void* beta, void* y, Size incy) {                  \
    auto call = make_call(kind, scalar, n, n, n, alpha, beta);                                           \
    set_fill(call, side_left, fill);                                                                     \
    return vector_product(call, handle, {a, lda}, x, incx, y, incy);                                     \
  }
#define BLASTOFF_EXPORT_Swap(symbol, kind, scalar)                                                          \
  cublasStatus symbol(cublasHandle handle, Size n, void* x, Size incx, void* y, Size incy) {                \
    return queue_vectors(blas::VectorKind::swap, scalar, scalar, handle, n, nullptr, {x, incx}, {y, incy}); \
  }
#define BLASTOFF_EXPORT_Copy(symbol, kind, scalar)                                                                 \
  cublasStatus symbol(cublasHandle handle, Size n, const void* x, Size incx, void* y, Size incy) {                 \
    return queue_vectors(blas::VectorKind::copy, scalar, scalar, handle, n, nullptr, {const_cast<void*>(x), incx}, \
                         {y, incy});                                                                               \
  }
#define BLASTOFF_EXPORT_Axpy(symbol, kind, scalar)                                                                    \
  cublasStatus symbol(cublasHandle handle, Size n, const void* alpha, const void* x, Size incx, void* y, Size incy) { \
    return queue_vectors(blas::VectorKind::axpy, scalar, scalar, handle, n, alpha, {const_cast<void*>(x), incx},      \
                         {y, incy});                                                                                  \
  }
#define BLASTOFF_EXPORT_Scal(symbol, kind, scalar)                                                               \
  cublasStatus symbol(cublasHandle handle, Size n, const void* alpha, void* x, Size incx) {                      \
    return queue_vectors(blas::VectorKind::scal, scalar, factor_of(#kind, scalar), handle, n, alpha, {x, incx}); \
  }
#define BLASTOFF_EXPORT_Tpttr(symbol, kind, scalar)                                                 \
  cublasStatus symbol(cublasHandle handle, int fill, int n, const void* packed, void* a, int lda) { \
    return copy_packed(scalar, handle, fill, n, packed, a, lda, false);                             \
  }
#define BLASTOFF_EXPORT_Trttp(symbol, kind, scalar)                                                 \
  cublasStatus symbol(cublasHandle handle, int fill, int n, const void* a, int lda, void* packed) { \
    return copy_packed(scalar, handle, fill, n, a, packed, lda, true);                              \
  }
#define BLASTOFF_EXPORT(symbol, kind, scalar, signature) \
  BLASTOFF_EXPORT_##signature(symbol, blas::Kind::kind, blas::Scalar::scalar)
BLASTOFF_CUBLAS_ROUTINES(BLASTOFF_EXPORT)

}  // extern "C"

// All functions of cuBLAS that device/gpu uses are here, with the same types.
#define BLASTOFF_CHECK(symbol, ...) static_assert(std::is_same_v<decltype(::symbol), __VA_ARGS__>, #symbol);
BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_CHECK)
