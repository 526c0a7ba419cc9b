// The part of cuBLAS that is used here; see device/gpu/cuda/api.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/cuda/api.h"

namespace blastoff::device::gpu::cuda::api {

using cublasStatus = int;
using cublasHandle = struct CublasHandle*;

constexpr cublasStatus blas_success = 0;
constexpr cublasStatus blas_alloc_failed = 3;
constexpr cublasStatus blas_arch_mismatch = 8;
constexpr cublasStatus blas_not_supported = 15;

constexpr int fill_lower = 0;
constexpr int fill_upper = 1;
constexpr int diagonal_non_unit = 0;
constexpr int diagonal_unit = 1;
constexpr int side_left = 0;
constexpr int side_right = 1;
constexpr int operation_none = 0;
constexpr int operation_transpose = 1;
constexpr int operation_conjugate = 2;
constexpr int pointer_mode_host = 0;
constexpr int atomics_not_allowed = 0;
constexpr int math_default = 0;
constexpr int math_disallow_reduced_precision_reduction = 16;
constexpr int property_major = 0;
constexpr int property_minor = 1;
constexpr int property_patch = 2;

#define BLASTOFF_CUBLAS_SYMBOLS(X)                                         \
  X(cublasCreate_v2, cublasStatus(cublasHandle*))                          \
  X(cublasDestroy_v2, cublasStatus(cublasHandle))                          \
  X(cublasGetProperty, cublasStatus(int, int*))                            \
  X(cublasGetStatusName, const char*(cublasStatus))                        \
  X(cublasSetStream_v2, cublasStatus(cublasHandle, CUstream))              \
  X(cublasSetWorkspace_v2, cublasStatus(cublasHandle, void*, std::size_t)) \
  X(cublasSetMathMode, cublasStatus(cublasHandle, int))                    \
  X(cublasSetPointerMode_v2, cublasStatus(cublasHandle, int))              \
  X(cublasSetAtomicsMode, cublasStatus(cublasHandle, int))

// The routines' signatures for any element type: coefficients and matrices are passed by address.
using Size = std::int64_t;
using Gemm = cublasStatus(cublasHandle, int transpose_a, int transpose_b, Size m, Size n, Size k, const void* alpha,
                          const void* a, Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc);
using GemmStridedBatched = cublasStatus(cublasHandle, int transpose_a, int transpose_b, Size m, Size n, Size k,
                                        const void* alpha, const void* a, Size lda, long long stride_a, const void* b,
                                        Size ldb, long long stride_b, const void* beta, void* c, Size ldc,
                                        long long stride_c, Size products);
using Symm = cublasStatus(cublasHandle, int side, int fill, Size m, Size n, const void* alpha, const void* a, Size lda,
                          const void* b, Size ldb, const void* beta, void* c, Size ldc);
using Syrk = cublasStatus(cublasHandle, int fill, int transpose, Size n, Size k, const void* alpha, const void* a,
                          Size lda, const void* beta, void* c, Size ldc);
using Syr2k = cublasStatus(cublasHandle, int fill, int transpose, Size n, Size k, const void* alpha, const void* a,
                           Size lda, const void* b, Size ldb, const void* beta, void* c, Size ldc);
using Trmm = cublasStatus(cublasHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,
                          const void* alpha, const void* a, Size lda, const void* b, Size ldb, void* c, Size ldc);
using Trsm = cublasStatus(cublasHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,
                          const void* alpha, const void* a, Size lda, void* b, Size ldb);
/// `a`, `b`: arrays of addresses in device memory.
using TrsmBatched = cublasStatus(cublasHandle, int side, int fill, int transpose, int diagonal, Size m, Size n,
                                 const void* alpha, const void* const* a, Size lda, void* const* b, Size ldb,
                                 Size solves);
using Gemv = cublasStatus(cublasHandle, int transpose, Size m, Size n, const void* alpha, const void* a, Size lda,
                          const void* x, Size incx, const void* beta, void* y, Size incy);
using Symv = cublasStatus(cublasHandle, int fill, Size n, const void* alpha, const void* a, Size lda, const void* x,
                          Size incx, const void* beta, void* y, Size incy);
using Swap = cublasStatus(cublasHandle, Size n, void* x, Size incx, void* y, Size incy);
using Copy = cublasStatus(cublasHandle, Size n, const void* x, Size incx, void* y, Size incy);
using Scal = cublasStatus(cublasHandle, Size n, const void* alpha, void* x, Size incx);
using Axpy = cublasStatus(cublasHandle, Size n, const void* alpha, const void* x, Size incx, void* y, Size incy);
// Copies of a triangle from and to packed storage. They have 32-bit sizes only.
using Tpttr = cublasStatus(cublasHandle, int fill, int n, const void* packed, void* a, int lda);
using Trttp = cublasStatus(cublasHandle, int fill, int n, const void* a, int lda, void* packed);

// X(symbol, member of Cublas, scalar, signature)
#define BLASTOFF_CUBLAS_ROUTINES_OF(X, letter, scalar)                                     \
  X(cublas##letter##gemm_v2_64, gemm, scalar, Gemm)                                        \
  X(cublas##letter##gemmStridedBatched_64, gemm_batch_strided, scalar, GemmStridedBatched) \
  X(cublas##letter##symm_v2_64, symm, scalar, Symm)                                        \
  X(cublas##letter##syrk_v2_64, syrk, scalar, Syrk)                                        \
  X(cublas##letter##syr2k_v2_64, syr2k, scalar, Syr2k)                                     \
  X(cublas##letter##trmm_v2_64, trmm, scalar, Trmm)                                        \
  X(cublas##letter##trsm_v2_64, trsm, scalar, Trsm)                                        \
  X(cublas##letter##trsmBatched_64, trsm_batch, scalar, TrsmBatched)                       \
  X(cublas##letter##gemv_v2_64, gemv, scalar, Gemv)                                        \
  X(cublas##letter##swap_v2_64, swap, scalar, Swap)                                        \
  X(cublas##letter##copy_v2_64, copy, scalar, Copy)                                        \
  X(cublas##letter##scal_v2_64, scal, scalar, Scal)                                        \
  X(cublas##letter##axpy_v2_64, axpy, scalar, Axpy)                                        \
  X(cublas##letter##tpttr, tpttr, scalar, Tpttr)                                           \
  X(cublas##letter##trttp, trttp, scalar, Trttp)
#define BLASTOFF_CUBLAS_REAL_ROUTINES_OF(X, letter, scalar) X(cublas##letter##symv_v2_64, symv, scalar, Symv)
#define BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, letter, scalar) \
  X(cublas##letter##hemm_v2_64, hemm, scalar, Symm)              \
  X(cublas##letter##herk_v2_64, herk, scalar, Syrk)              \
  X(cublas##letter##her2k_v2_64, her2k, scalar, Syr2k)           \
  X(cublas##letter##hemv_v2_64, hemv, scalar, Symv)
#define BLASTOFF_CUBLAS_ROUTINES(X)              \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, S, s)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, D, d)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, C, c)           \
  BLASTOFF_CUBLAS_ROUTINES_OF(X, Z, z)           \
  BLASTOFF_CUBLAS_REAL_ROUTINES_OF(X, S, s)      \
  BLASTOFF_CUBLAS_REAL_ROUTINES_OF(X, D, d)      \
  BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, C, c) \
  BLASTOFF_CUBLAS_HERMITIAN_ROUTINES_OF(X, Z, z) \
  X(cublasCsscal_v2_64, real_scal, c, Scal)      \
  X(cublasZdscal_v2_64, real_scal, z, Scal)

}  // namespace blastoff::device::gpu::cuda::api
