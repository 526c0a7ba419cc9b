// The part of cuSOLVER that is used here; see device/gpu/cuda/api.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/gpu/cuda/cublas/api.h"

namespace blastoff::device::gpu::cuda::api {

using cusolverStatus = int;
using cusolverHandle = struct CusolverHandle*;
using cusolverParams = struct CusolverParams*;

constexpr cusolverStatus solver_success = 0;
constexpr cusolverStatus solver_alloc_failed = 2;
constexpr cusolverStatus solver_invalid_value = 3;
constexpr cusolverStatus solver_arch_mismatch = 4;
constexpr cusolverStatus solver_type_not_supported = 8;
constexpr cusolverStatus solver_not_supported = 9;

constexpr int type_real_32 = 0;
constexpr int type_real_64 = 1;
constexpr int type_complex_32 = 4;
constexpr int type_complex_64 = 5;
constexpr int no_vectors = 0;
constexpr int with_vectors = 1;
constexpr int range_of_indices = 1002;

// Data types are type_... constants, jobs no_vectors or with_vectors. Sizes of work space are in bytes.
#define BLASTOFF_CUSOLVER_SYMBOLS(X)                                                                                   \
  X(cusolverDnCreate, cusolverStatus(cusolverHandle*))                                                                 \
  X(cusolverDnDestroy, cusolverStatus(cusolverHandle))                                                                 \
  X(cusolverDnSetStream, cusolverStatus(cusolverHandle, CUstream))                                                     \
  X(cusolverDnCreateParams, cusolverStatus(cusolverParams*))                                                           \
  X(cusolverDnDestroyParams, cusolverStatus(cusolverParams))                                                           \
  X(cusolverGetProperty, cusolverStatus(int, int*))                                                                    \
  X(cusolverDnXpotrf_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, cusolverParams, int fill, Size n, int type, const void* a, Size lda,                \
                   int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                              \
  X(cusolverDnXpotrf,                                                                                                  \
    cusolverStatus(cusolverHandle, cusolverParams, int fill, Size n, int type, void* a, Size lda, int compute_type,    \
                   void* device, std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))             \
  X(cusolverDnXpotrs, cusolverStatus(cusolverHandle, cusolverParams, int fill, Size n, Size right_hand_sides,          \
                                     int type_a, const void* a, Size lda, int type_b, void* b, Size ldb, int* info))   \
  X(cusolverDnXgetrf_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, cusolverParams, Size m, Size n, int type, const void* a, Size lda,                  \
                   int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                              \
  X(cusolverDnXgetrf, cusolverStatus(cusolverHandle, cusolverParams, Size m, Size n, int type, void* a, Size lda,      \
                                     std::int64_t* pivots, int compute_type, void* device, std::size_t device_bytes,   \
                                     void* host, std::size_t host_bytes, int* info))                                   \
  X(cusolverDnXgetrs,                                                                                                  \
    cusolverStatus(cusolverHandle, cusolverParams, int operation, Size n, Size right_hand_sides, int type_a,           \
                   const void* a, Size lda, const std::int64_t* pivots, int type_b, void* b, Size ldb, int* info))     \
  X(cusolverDnXsytrs_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, int fill, Size n, Size right_hand_sides, int type_a, const void* a, Size lda,       \
                   const std::int64_t* pivots, int type_b, void* b, Size ldb, std::size_t* device_bytes,               \
                   std::size_t* host_bytes))                                                                           \
  X(cusolverDnXsytrs,                                                                                                  \
    cusolverStatus(cusolverHandle, int fill, Size n, Size right_hand_sides, int type_a, const void* a, Size lda,       \
                   const std::int64_t* pivots, int type_b, void* b, Size ldb, void* device, std::size_t device_bytes,  \
                   void* host, std::size_t host_bytes, int* info))                                                     \
  X(cusolverDnXtrtri_bufferSize, cusolverStatus(cusolverHandle, int fill, int diagonal, Size n, int type, void* a,     \
                                                Size lda, std::size_t* device_bytes, std::size_t* host_bytes))         \
  X(cusolverDnXtrtri,                                                                                                  \
    cusolverStatus(cusolverHandle, int fill, int diagonal, Size n, int type, void* a, Size lda, void* device,          \
                   std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))                           \
  X(cusolverDnXgeqrf_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, cusolverParams, Size m, Size n, int type, const void* a, Size lda, int type_tau,    \
                   const void* tau, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))             \
  X(cusolverDnXgeqrf, cusolverStatus(cusolverHandle, cusolverParams, Size m, Size n, int type, void* a, Size lda,      \
                                     int type_tau, void* tau, int compute_type, void* device,                          \
                                     std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))         \
  X(cusolverDnXsyevd_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, cusolverParams, int job, int fill, Size n, int type, const void* a, Size lda,       \
                   int type_w, const void* w, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))   \
  X(cusolverDnXsyevd, cusolverStatus(cusolverHandle, cusolverParams, int job, int fill, Size n, int type, void* a,     \
                                     Size lda, int type_w, void* w, int compute_type, void* device,                    \
                                     std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))         \
  X(cusolverDnXsyevdx_bufferSize,                                                                                      \
    cusolverStatus(cusolverHandle, cusolverParams, int job, int range, int fill, Size n, int type, const void* a,      \
                   Size lda, void* vl, void* vu, Size il, Size iu, std::int64_t* found, int type_w, const void* w,     \
                   int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))                              \
  X(cusolverDnXsyevdx,                                                                                                 \
    cusolverStatus(cusolverHandle, cusolverParams, int job, int range, int fill, Size n, int type, void* a, Size lda,  \
                   void* vl, void* vu, Size il, Size iu, std::int64_t* found, int type_w, void* w, int compute_type,   \
                   void* device, std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))             \
  X(cusolverDnXgesvd_bufferSize,                                                                                       \
    cusolverStatus(cusolverHandle, cusolverParams, signed char job_u, signed char job_vt, Size m, Size n, int type,    \
                   const void* a, Size lda, int type_s, const void* s, int type_u, const void* u, Size ldu,            \
                   int type_vt, const void* vt, Size ldvt, int compute_type, std::size_t* device_bytes,                \
                   std::size_t* host_bytes))                                                                           \
  X(cusolverDnXgesvd, cusolverStatus(cusolverHandle, cusolverParams, signed char job_u, signed char job_vt, Size m,    \
                                     Size n, int type, void* a, Size lda, int type_s, void* s, int type_u, void* u,    \
                                     Size ldu, int type_vt, void* vt, Size ldvt, int compute_type, void* device,       \
                                     std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))         \
  X(cusolverDnXgesvdp_bufferSize,                                                                                      \
    cusolverStatus(cusolverHandle, cusolverParams, int job, int economic, Size m, Size n, int type, const void* a,     \
                   Size lda, int type_s, const void* s, int type_u, const void* u, Size ldu, int type_v,               \
                   const void* v, Size ldv, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes))     \
  X(cusolverDnXgesvdp,                                                                                                 \
    cusolverStatus(cusolverHandle, cusolverParams, int job, int economic, Size m, Size n, int type, void* a, Size lda, \
                   int type_s, void* s, int type_u, void* u, Size ldu, int type_v, void* v, Size ldv,                  \
                   int compute_type, void* device, std::size_t device_bytes, void* host, std::size_t host_bytes,       \
                   int* info, double* perturbation))

// Null before cuSOLVER 11.7.2.
#define BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(X)                                                                          \
  X(cusolverDnXgeev_bufferSize,                                                                                        \
    cusolverStatus(cusolverHandle, cusolverParams, int job_left, int job_right, Size n, int type, const void* a,       \
                   Size lda, int type_w, const void* w, int type_left, const void* left, Size ldl, int type_right,     \
                   const void* right, Size ldr, int compute_type, std::size_t* device_bytes, std::size_t* host_bytes)) \
  X(cusolverDnXgeev, cusolverStatus(cusolverHandle, cusolverParams, int job_left, int job_right, Size n, int type,     \
                                    void* a, Size lda, int type_w, void* w, int type_left, void* left, Size ldl,       \
                                    int type_right, void* right, Size ldr, int compute_type, void* device,             \
                                    std::size_t device_bytes, void* host, std::size_t host_bytes, int* info))

// Signatures, for any element type, of routines that have 32-bit sizes only. Sizes of work space are in elements.
using PotriSize = cusolverStatus(cusolverHandle, int fill, int n, void* a, int lda, int* work_size);
using Potri = cusolverStatus(cusolverHandle, int fill, int n, void* a, int lda, void* work, int work_size, int* info);
using SytrfSize = cusolverStatus(cusolverHandle, int n, void* a, int lda, int* work_size);
using Sytrf = cusolverStatus(cusolverHandle, int fill, int n, void* a, int lda, int* pivots, void* work, int work_size,
                             int* info);
using OrgqrSize = cusolverStatus(cusolverHandle, int m, int n, int k, const void* a, int lda, const void* tau,
                                 int* work_size);
using Orgqr = cusolverStatus(cusolverHandle, int m, int n, int k, void* a, int lda, const void* tau, void* work,
                             int work_size, int* info);
using OrmqrSize = cusolverStatus(cusolverHandle, int side, int operation, int m, int n, int k, const void* a, int lda,
                                 const void* tau, const void* c, int ldc, int* work_size);
using Ormqr = cusolverStatus(cusolverHandle, int side, int operation, int m, int n, int k, const void* a, int lda,
                             const void* tau, void* c, int ldc, void* work, int work_size, int* info);
using SygvdSize = cusolverStatus(cusolverHandle, int itype, int job, int fill, int n, const void* a, int lda,
                                 const void* b, int ldb, const void* w, int* work_size);
using Sygvd = cusolverStatus(cusolverHandle, int itype, int job, int fill, int n, void* a, int lda, void* b, int ldb,
                             void* w, void* work, int work_size, int* info);
using Laswp = cusolverStatus(cusolverHandle, int n, void* a, int lda, int k1, int k2, const int* pivots, int incx);
template <class Real>
using SygvdxSizeOf = cusolverStatus(cusolverHandle, int itype, int job, int range, int fill, int n, const void* a,
                                    int lda, const void* b, int ldb, Real vl, Real vu, int il, int iu, int* found,
                                    const void* w, int* work_size);
template <class Real>
using SygvdxOf = cusolverStatus(cusolverHandle, int itype, int job, int range, int fill, int n, void* a, int lda,
                                void* b, int ldb, Real vl, Real vu, int il, int iu, int* found, void* w, void* work,
                                int work_size, int* info);
using SygvdxSize32 = SygvdxSizeOf<float>;
using SygvdxSize64 = SygvdxSizeOf<double>;
using Sygvdx32 = SygvdxOf<float>;
using Sygvdx64 = SygvdxOf<double>;

// X(symbol, member of Cusolver, scalar, signature)
#define BLASTOFF_CUSOLVER_ROUTINES_OF(X, scalar, precision, laswp_name, potri_name, sytrf_name, orgqr_name, \
                                      ormqr_name, sygvd_name)                                               \
  X(laswp_name, laswp, scalar, Laswp)                                                                       \
  X(potri_name##_bufferSize, potri_size, scalar, PotriSize)                                                 \
  X(potri_name, potri, scalar, Potri)                                                                       \
  X(sytrf_name##_bufferSize, sytrf_size, scalar, SytrfSize)                                                 \
  X(sytrf_name, sytrf, scalar, Sytrf)                                                                       \
  X(orgqr_name##_bufferSize, orgqr_size, scalar, OrgqrSize)                                                 \
  X(orgqr_name, orgqr, scalar, Orgqr)                                                                       \
  X(ormqr_name##_bufferSize, ormqr_size, scalar, OrmqrSize)                                                 \
  X(ormqr_name, ormqr, scalar, Ormqr)                                                                       \
  X(sygvd_name##_bufferSize, sygvd_size, scalar, SygvdSize)                                                 \
  X(sygvd_name, sygvd, scalar, Sygvd)                                                                       \
  X(sygvd_name##x_bufferSize, sygvdx_size_##precision, scalar, SygvdxSize##precision)                       \
  X(sygvd_name##x, sygvdx_##precision, scalar, Sygvdx##precision)
#define BLASTOFF_CUSOLVER_ROUTINES(X)                                                                             \
  BLASTOFF_CUSOLVER_ROUTINES_OF(X, s, 32, cusolverDnSlaswp, cusolverDnSpotri, cusolverDnSsytrf, cusolverDnSorgqr, \
                                cusolverDnSormqr, cusolverDnSsygvd)                                               \
  BLASTOFF_CUSOLVER_ROUTINES_OF(X, d, 64, cusolverDnDlaswp, cusolverDnDpotri, cusolverDnDsytrf, cusolverDnDorgqr, \
                                cusolverDnDormqr, cusolverDnDsygvd)                                               \
  BLASTOFF_CUSOLVER_ROUTINES_OF(X, c, 32, cusolverDnClaswp, cusolverDnCpotri, cusolverDnCsytrf, cusolverDnCungqr, \
                                cusolverDnCunmqr, cusolverDnChegvd)                                               \
  BLASTOFF_CUSOLVER_ROUTINES_OF(X, z, 64, cusolverDnZlaswp, cusolverDnZpotri, cusolverDnZsytrf, cusolverDnZungqr, \
                                cusolverDnZunmqr, cusolverDnZhegvd)

}  // namespace blastoff::device::gpu::cuda::api
