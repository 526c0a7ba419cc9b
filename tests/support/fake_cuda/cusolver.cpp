// A libcusolver.so.12 for the fake GPU: textbook Cholesky and LU, run on the stream's thread. Other routines use the
// system's LAPACK or are not supported. FAKE_SOLVER_STATUS and FAKE_SOLVER_INFO set the status and the info that a
// factorization returns.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "blas/types.h"
#include "device/gpu/cuda/cusolver/api.h"
#include "fake_cuda/factorizations.h"
#include "fake_cuda/gpu.h"
#include "fake_cuda/lapack.h"

using namespace blastoff::device::gpu::cuda::api;  // NOLINT: this file is written in cuSOLVER's own words
namespace blas = blastoff::blas;
namespace fake = blastoff::fake_cuda;
using namespace fake;  // NOLINT: its helpers are for this file

namespace blastoff::device::gpu::cuda::api {
struct CusolverHandle {
  CUstream stream = nullptr;
};
struct CusolverParams {};
}  // namespace blastoff::device::gpu::cuda::api

namespace {

constexpr cusolverStatus not_initialized = 1;

/// Calls work(T{}) on the stream with the type that the code means.
template <class Work>
cusolverStatus post(cusolverHandle handle, int type, Work work) {
  if (!driver().context_is_current() || handle == nullptr || handle->stream == nullptr) return not_initialized;
  driver().post(handle->stream, [=] { with_type(type, work); });
  return solver_success;
}

template <class T>
View<T> view(const void* address, Size stride) {
  return {static_cast<T*>(const_cast<void*>(address)), stride};
}

}  // namespace

extern "C" {

cusolverStatus cusolverDnCreate(cusolverHandle* handle) {
  if (!driver().context_is_current()) return not_initialized;
  *handle = new CusolverHandle;
  return solver_success;
}
cusolverStatus cusolverDnDestroy(cusolverHandle handle) {
  delete handle;
  return solver_success;
}
cusolverStatus cusolverDnSetStream(cusolverHandle handle, CUstream stream) {
  handle->stream = stream;
  return solver_success;
}
cusolverStatus cusolverDnCreateParams(cusolverParams* params) {
  *params = new CusolverParams;
  return solver_success;
}
cusolverStatus cusolverDnDestroyParams(cusolverParams params) {
  delete params;
  return solver_success;
}
cusolverStatus cusolverGetProperty(int, int* value) {
  *value = 12;
  return solver_success;
}

cusolverStatus cusolverDnXpotrf_bufferSize(cusolverHandle, cusolverParams, int, Size, int, const void*, Size, int,
                                           std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = *host_bytes = 64;
  return solver_success;
}
cusolverStatus cusolverDnXpotrf(cusolverHandle handle, cusolverParams, int fill, Size n, int type, void* a, Size lda,
                                int, void* device, std::size_t device_bytes, void*, std::size_t, int* info) {
  if (const int status = wanted("FAKE_SOLVER_STATUS"); status != solver_success) return status;
  if (!driver().is_device_memory(device, device_bytes)) return solver_invalid_value;
  return post(handle, type, [=]<class T>(T) {
    *info = factor_cholesky(view<T>(a, lda), n, fill == fill_upper);
    if (const int other = wanted("FAKE_SOLVER_INFO"); other != 0) *info = other;
  });
}
cusolverStatus cusolverDnXpotrs(cusolverHandle handle, cusolverParams, int fill, Size n, Size columns, int type,
                                const void* a, Size lda, int, void* b, Size ldb, int* info) {
  return post(handle, type, [=]<class T>(T) {
    solve_cholesky(view<T>(a, lda), n, fill == fill_upper, view<T>(b, ldb), columns);
    *info = 0;
  });
}
cusolverStatus cusolverDnXgetrf_bufferSize(cusolverHandle, cusolverParams, Size, Size, int, const void*, Size, int,
                                           std::size_t* device_bytes, std::size_t* host_bytes) {
  *device_bytes = *host_bytes = 0;
  return solver_success;
}
cusolverStatus cusolverDnXgetrf(cusolverHandle handle, cusolverParams, Size m, Size n, int type, void* a, Size lda,
                                std::int64_t* pivots, int, void*, std::size_t, void*, std::size_t, int* info) {
  return post(handle, type, [=]<class T>(T) { *info = factor_lu(view<T>(a, lda), m, n, pivots); });
}
cusolverStatus cusolverDnXgetrs(cusolverHandle handle, cusolverParams, int operation, Size n, Size columns, int type,
                                const void* a, Size lda, const std::int64_t* pivots, int, void* b, Size ldb,
                                int* info) {
  return post(handle, type, [=]<class T>(T) {
    solve_lu(view<T>(a, lda), n, pivots, operation, view<T>(b, ldb), columns);
    *info = 0;
  });
}

}  // extern "C"

namespace {

constexpr int type_of(blas::Scalar scalar) {
  return scalar == blas::Scalar::s   ? type_real_32
         : scalar == blas::Scalar::d ? type_real_64
         : scalar == blas::Scalar::c ? type_complex_32
                                     : type_complex_64;
}

cusolverStatus sizes(const char* real, const char* complex, int type, std::size_t* device_bytes,
                     std::size_t* host_bytes) {
  *device_bytes = *host_bytes = 0;
  return lapack_function(name_of(type, real, complex)) == nullptr ? solver_not_supported : solver_success;
}
cusolverStatus size_of(const char* real, const char* complex, int type, int* elements) {
  *elements = 1;
  return lapack_function(name_of(type, real, complex)) == nullptr ? solver_not_supported : solver_success;
}

/// Overwrites the gaps between the columns of a result, as cuSOLVER's gesvdp and geev do.
void spoil_gaps(int type, void* matrix, Size rows, Size columns, Size stride) {
  const std::size_t element = blas::element_size(scalar_of(type));
  for (Size j = 0; j + 1 < columns && stride > rows; ++j) {
    char* const gap = static_cast<char*>(matrix) + static_cast<std::size_t>(j * stride + rows) * element;
    std::memset(gap, 0x7f, static_cast<std::size_t>(stride - rows) * element);
  }
}

template <class Run>
cusolverStatus post_run(cusolverHandle handle, Run run) {
  if (!driver().context_is_current() || handle == nullptr || handle->stream == nullptr) return not_initialized;
  driver().post(handle->stream, std::move(run));
  return solver_success;
}

char operation_letter(int operation) {
  return "NTC"[operation];
}

/// Moves the columns from `first` on to the front.
void shift(void* memory, Size stride_bytes, Size first, Size count) {
  std::memmove(memory, static_cast<char*>(memory) + (first - 1) * stride_bytes,
               static_cast<std::size_t>(count * stride_bytes));
}

void shift_vectors(int type, Size lda, Size il, Size iu, void* a, void* w) {
  const auto bytes = static_cast<Size>(blas::element_size(scalar_of(type)));
  shift(a, lda * bytes, il, iu - il + 1);
  shift(w, blas::is_complex(scalar_of(type)) ? bytes / 2 : bytes, il, iu - il + 1);
}

void run_gesvd(int type, char job_u, char job_vt, int m, int n, void* a, int lda, void* s, void* u, int ldu, void* vt,
               int ldvt, int* info) {
  Work work(m + n), rwork(m + n);
  Borrowed own_a(type, a, m, n, lda);
  Borrowed own_u(type, u, m, job_u == 'A' ? m : n, ldu);
  Borrowed own_vt(type, vt, n, n, ldvt);
  const auto call = [&](auto*... last) {
    call_fortran(name_of(type, "gesvd", "gesvd"), &job_u, &job_vt, &m, &n, own_a.memory(), &lda, s, own_u.memory(),
                 &ldu, own_vt.memory(), &ldvt, work.memory(), work.length(), last...);
  };
  blas::is_complex(scalar_of(type)) ? call(rwork.memory(), info) : call(info);
}

}  // namespace

extern "C" {

cusolverStatus cusolverDnXsytrs_bufferSize(cusolverHandle, int, Size, Size, int type, const void*, Size,
                                           const std::int64_t*, int, void*, Size, std::size_t* device_bytes,
                                           std::size_t* host_bytes) {
  return sizes("sytrs", "sytrs", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXsytrs(cusolverHandle handle, int fill, Size n, Size columns, int type, const void* a,
                                Size lda, const std::int64_t* pivots, int, void* b, Size ldb, void*, std::size_t, void*,
                                std::size_t, int* info) {
  return post_run(handle, [=, order = int(n), count = int(columns), lda_ = int(lda), ldb_ = int(ldb)]() mutable {
    char uplo = fill_letter(fill);
    std::vector<int> narrow(pivots, pivots + n);
    call_fortran(name_of(type, "sytrs", "sytrs"), &uplo, &order, &count, a, &lda_, narrow.data(), b, &ldb_, info);
  });
}
cusolverStatus cusolverDnXtrtri_bufferSize(cusolverHandle, int, int, Size, int type, void*, Size,
                                           std::size_t* device_bytes, std::size_t* host_bytes) {
  return sizes("trtri", "trtri", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXtrtri(cusolverHandle handle, int fill, int diagonal, Size n, int type, void* a, Size lda,
                                void*, std::size_t, void*, std::size_t, int* info) {
  return post_run(handle, [=, order = int(n), stride = int(lda)]() mutable {
    char uplo = fill_letter(fill);
    char diag = diagonal == diagonal_unit ? 'U' : 'N';
    call_fortran(name_of(type, "trtri", "trtri"), &uplo, &diag, &order, a, &stride, info);
  });
}
cusolverStatus cusolverDnXgeqrf_bufferSize(cusolverHandle, cusolverParams, Size, Size, int type, const void*, Size, int,
                                           const void*, int, std::size_t* device_bytes, std::size_t* host_bytes) {
  return sizes("geqrf", "geqrf", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXgeqrf(cusolverHandle handle, cusolverParams, Size m, Size n, int type, void* a, Size lda, int,
                                void* tau, int, void*, std::size_t, void*, std::size_t, int* info) {
  return post_run(handle, [=, rows = int(m), columns = int(n), stride = int(lda)]() mutable {
    Work work(n);
    call_fortran(name_of(type, "geqrf", "geqrf"), &rows, &columns, a, &stride, tau, work.memory(), work.length(), info);
  });
}
cusolverStatus cusolverDnXsyevd_bufferSize(cusolverHandle, cusolverParams, int, int, Size, int type, const void*, Size,
                                           int, const void*, int, std::size_t* device_bytes, std::size_t* host_bytes) {
  return sizes("syevd", "heevd", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXsyevd(cusolverHandle handle, cusolverParams, int job, int fill, Size n, int type, void* a,
                                Size lda, int, void* w, int, void*, std::size_t, void*, std::size_t, int* info) {
  return post_run(handle, [=] { run_syevd(type, job, fill, n, a, lda, w, info); });
}
cusolverStatus cusolverDnXsyevdx_bufferSize(cusolverHandle, cusolverParams, int, int, int, Size, int type, const void*,
                                            Size, void*, void*, Size, Size, std::int64_t*, int, const void*, int,
                                            std::size_t* device_bytes, std::size_t* host_bytes) {
  return sizes("syevd", "heevd", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXsyevdx(cusolverHandle handle, cusolverParams, int job, int, int fill, Size n, int type,
                                 void* a, Size lda, void*, void*, Size il, Size iu, std::int64_t* found, int, void* w,
                                 int, void*, std::size_t, void*, std::size_t, int* info) {
  *found = iu - il + 1;
  return post_run(handle, [=] {
    run_syevd(type, job, fill, n, a, lda, w, info);
    shift_vectors(type, lda, il, iu, a, w);
  });
}
cusolverStatus cusolverDnXgesvd_bufferSize(cusolverHandle, cusolverParams, signed char, signed char, Size m, Size n,
                                           int type, const void*, Size, int, const void*, int, const void*, Size, int,
                                           const void*, Size, int, std::size_t* device_bytes, std::size_t* host_bytes) {
  return m < n ? solver_invalid_value : sizes("gesvd", "gesvd", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXgesvd(cusolverHandle handle, cusolverParams, signed char job_u, signed char job_vt, Size m,
                                Size n, int type, void* a, Size lda, int, void* s, int, void* u, Size ldu, int,
                                void* vt, Size ldvt, int, void*, std::size_t, void*, std::size_t, int* info) {
  return post_run(handle, [=] {
    run_gesvd(type, job_u, job_vt, int(m), int(n), a, int(lda), s, u, int(ldu), vt, int(ldvt), info);
  });
}
cusolverStatus cusolverDnXgesvdp_bufferSize(cusolverHandle, cusolverParams, int, int, Size m, Size n, int type,
                                            const void*, Size, int, const void*, int, const void*, Size, int,
                                            const void*, Size, int, std::size_t* device_bytes,
                                            std::size_t* host_bytes) {
  return m < n ? solver_invalid_value : sizes("gesvd", "gesvd", type, device_bytes, host_bytes);
}
// Under FAKE_SOLVER_PERTURBED the singular values are changed and V is wrong.
cusolverStatus cusolverDnXgesvdp(cusolverHandle handle, cusolverParams, int, int economic, Size m, Size n, int type,
                                 void* a, Size lda, int, void* s, int, void* u, Size ldu, int, void* v, Size ldv, int,
                                 void*, std::size_t, void*, std::size_t, int* info, double* perturbation) {
  *perturbation = wanted("FAKE_SOLVER_PERTURBED");
  const bool wrong = *perturbation != 0;
  return post(handle, type, [=]<class T>(T) {
    std::vector<T> vt(static_cast<std::size_t>(n * n));
    const char job = economic != 0 ? 'S' : 'A';
    run_gesvd(type, job, job, int(m), int(n), a, int(lda), s, u, int(ldu), vt.data(), int(n), info);
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < n; ++j)
        view<T>(v, ldv)(j, i) = wrong ? T{} : conjugate(vt[static_cast<std::size_t>(i + j * n)]);
    spoil_gaps(type, u, m, economic != 0 ? n : m, ldu);
    spoil_gaps(type, v, n, n, ldv);
  });
}
cusolverStatus cusolverDnXgeev_bufferSize(cusolverHandle, cusolverParams, int, int, Size, int type, const void*, Size,
                                          int, const void*, int, const void*, Size, int, const void*, Size, int,
                                          std::size_t* device_bytes, std::size_t* host_bytes) {
  return sizes("geev", "geev", type, device_bytes, host_bytes);
}
cusolverStatus cusolverDnXgeev(cusolverHandle handle, cusolverParams, int, int job_right, Size n, int type, void* a,
                               Size lda, int, void* w, int, void* left, Size ldl, int, void* right, Size ldr, int,
                               void*, std::size_t, void*, std::size_t, int* info) {
  return post_run(handle, [=, order = int(n), lda_ = int(lda), ldl_ = int(ldl), ldr_ = int(ldr)]() mutable {
    char jobvl = 'N';
    char jobvr = job_letter(job_right);
    Work work(n), rwork(n);
    Borrowed own_a(type, a, n, n, lda);
    Borrowed own_right(type, right, n, n, ldr);
    const std::string name = name_of(type, "geev", "geev");
    void* const wi = static_cast<char*>(w) + static_cast<std::size_t>(n) * blas::element_size(scalar_of(type));
    if (blas::is_complex(scalar_of(type))) {
      call_fortran(name, &jobvl, &jobvr, &order, own_a.memory(), &lda_, w, left, &ldl_, own_right.memory(), &ldr_,
                   work.memory(), work.length(), rwork.memory(), info);
    } else {
      call_fortran(name, &jobvl, &jobvr, &order, own_a.memory(), &lda_, w, wi, left, &ldl_, own_right.memory(), &ldr_,
                   work.memory(), work.length(), info);
    }
    spoil_gaps(type, own_right.memory(), n, n, ldr);
  });
}

// One exported function for each routine of the 32-bit interface, by signature.
#define FAKE_Laswp(symbol, type)                                                                                       \
  cusolverStatus symbol(cusolverHandle handle, int n, void* a, int lda, int k1, int k2, const int* pivots, int incx) { \
    return post_run(handle, [=]() mutable {                                                                            \
      call_fortran(name_of(type, "laswp", "laswp"), &n, a, &lda, &k1, &k2, pivots, &incx);                             \
    });                                                                                                                \
  }
#define FAKE_PotriSize(symbol, type)                                           \
  cusolverStatus symbol(cusolverHandle, int, int, void*, int, int* elements) { \
    return size_of("potri", "potri", type, elements);                          \
  }
#define FAKE_Potri(symbol, type)                                                                           \
  cusolverStatus symbol(cusolverHandle handle, int fill, int n, void* a, int lda, void*, int, int* info) { \
    return post_run(handle, [=]() mutable {                                                                \
      char uplo = fill_letter(fill);                                                                       \
      call_fortran(name_of(type, "potri", "potri"), &uplo, &n, a, &lda, info);                             \
    });                                                                                                    \
  }
#define FAKE_SytrfSize(symbol, type)                                      \
  cusolverStatus symbol(cusolverHandle, int, void*, int, int* elements) { \
    return size_of("sytrf", "sytrf", type, elements);                     \
  }
#define FAKE_Sytrf(symbol, type)                                                                                     \
  cusolverStatus symbol(cusolverHandle handle, int fill, int n, void* a, int lda, int* pivots, void*, int,           \
                        int* info) {                                                                                 \
    return post_run(handle, [=]() mutable {                                                                          \
      char uplo = fill_letter(fill);                                                                                 \
      Work work(n);                                                                                                  \
      call_fortran(name_of(type, "sytrf", "sytrf"), &uplo, &n, a, &lda, pivots, work.memory(), work.length(), info); \
    });                                                                                                              \
  }
#define FAKE_OrgqrSize(symbol, type)                                                                   \
  cusolverStatus symbol(cusolverHandle, int, int, int, const void*, int, const void*, int* elements) { \
    return size_of("orgqr", "ungqr", type, elements);                                                  \
  }
#define FAKE_Orgqr(symbol, type)                                                                                   \
  cusolverStatus symbol(cusolverHandle handle, int m, int n, int k, void* a, int lda, const void* tau, void*, int, \
                        int* info) {                                                                               \
    return post_run(handle, [=]() mutable {                                                                        \
      Work work(n);                                                                                                \
      call_fortran(name_of(type, "orgqr", "ungqr"), &m, &n, &k, a, &lda, tau, work.memory(), work.length(), info); \
    });                                                                                                            \
  }
#define FAKE_OrmqrSize(symbol, type)                                                                              \
  cusolverStatus symbol(cusolverHandle, int, int, int, int, int, const void*, int, const void*, const void*, int, \
                        int* elements) {                                                                          \
    return size_of("ormqr", "unmqr", type, elements);                                                             \
  }
#define FAKE_Ormqr(symbol, type)                                                                                     \
  cusolverStatus symbol(cusolverHandle handle, int side, int operation, int m, int n, int k, const void* a, int lda, \
                        const void* tau, void* c, int ldc, void*, int, int* info) {                                  \
    return post_run(handle, [=]() mutable {                                                                          \
      char side_letter = side == side_left ? 'L' : 'R';                                                              \
      char trans = operation_letter(operation);                                                                      \
      Work work(m + n);                                                                                              \
      call_fortran(name_of(type, "ormqr", "unmqr"), &side_letter, &trans, &m, &n, &k, a, &lda, tau, c, &ldc,         \
                   work.memory(), work.length(), info);                                                              \
    });                                                                                                              \
  }
#define FAKE_SygvdSize(symbol, type)                                                                         \
  cusolverStatus symbol(cusolverHandle, int, int, int, int, const void*, int, const void*, int, const void*, \
                        int* elements) {                                                                     \
    return size_of("sygvd", "hegvd", type, elements);                                                        \
  }
#define FAKE_Sygvd(symbol, type)                                                                               \
  cusolverStatus symbol(cusolverHandle handle, int itype, int job, int fill, int n, void* a, int lda, void* b, \
                        int ldb, void* w, void*, int, int* info) {                                             \
    return post_run(handle, [=] { run_sygvd(type, itype, job, fill, n, a, lda, b, ldb, w, info); });           \
  }
#define FAKE_SYGVDX_SIZE(symbol, type, Real)                                                                          \
  cusolverStatus symbol(cusolverHandle, int, int, int, int, int, const void*, int, const void*, int, Real, Real, int, \
                        int, int*, const void*, int* elements) {                                                      \
    return size_of("sygvd", "hegvd", type, elements);                                                                 \
  }
#define FAKE_SYGVDX(symbol, type, Real)                                                                             \
  cusolverStatus symbol(cusolverHandle handle, int itype, int job, int, int fill, int n, void* a, int lda, void* b, \
                        int ldb, Real, Real, int il, int iu, int* found, void* w, void*, int, int* info) {          \
    *found = iu - il + 1;                                                                                           \
    return post_run(handle, [=] {                                                                                   \
      run_sygvd(type, itype, job, fill, n, a, lda, b, ldb, w, info);                                                \
      shift_vectors(type, lda, il, iu, a, w);                                                                       \
    });                                                                                                             \
  }
#define FAKE_SygvdxSize32(symbol, type) FAKE_SYGVDX_SIZE(symbol, type, float)
#define FAKE_SygvdxSize64(symbol, type) FAKE_SYGVDX_SIZE(symbol, type, double)
#define FAKE_Sygvdx32(symbol, type) FAKE_SYGVDX(symbol, type, float)
#define FAKE_Sygvdx64(symbol, type) FAKE_SYGVDX(symbol, type, double)
#define FAKE_EXPORT(symbol, member, scalar, signature) FAKE_##signature(symbol, type_of(blas::Scalar::scalar))
BLASTOFF_CUSOLVER_ROUTINES(FAKE_EXPORT)

}  // extern "C"

// All functions of cuSOLVER that device/gpu uses are here, with the same types.
#define BLASTOFF_CHECK(symbol, ...) static_assert(std::is_same_v<decltype(::symbol), __VA_ARGS__>, #symbol);
BLASTOFF_CUSOLVER_SYMBOLS(BLASTOFF_CHECK)
BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(BLASTOFF_CHECK)
#undef BLASTOFF_CHECK
#define BLASTOFF_CHECK(symbol, member, scalar, signature) static_assert(std::is_same_v<decltype(::symbol), signature>);
BLASTOFF_CUSOLVER_ROUTINES(BLASTOFF_CHECK)
