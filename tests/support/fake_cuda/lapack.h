// Routines of LAPACK, as the fake cuSOLVER and cuSOLVERMp make them. Those of the system's LAPACK are for programs in
// which Blastoff intercepts no LAPACK: otherwise they would come back to the fake GPU, and so on without end.
#pragma once

#include <algorithm>
#include <complex>
#include <cstring>
#include <string>
#include <vector>

#include <dlfcn.h>

#include "device/gpu/cuda/cusolver/api.h"
#include "fake_cuda/blas.h"
#include "fake_cuda/factorizations.h"

namespace blastoff::fake_cuda {

using device::gpu::cuda::api::Size;

inline void* lapack_function(const std::string& name) {
  static void* const library = dlopen("liblapack.so.3", RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : dlsym(library, name.c_str());
}

/// A routine's symbol, such as "dsyevd_"; complex routines may have another stem.
inline std::string name_of(int type, const std::string& real, const std::string& complex) {
  const auto scalar = static_cast<std::size_t>(scalar_of(type));
  return std::string(1, "sdcz"[scalar]) + (blas::is_complex(scalar_of(type)) ? complex : real) + "_";
}

/// More work space than any routine needs for matrices of this size, and the arguments to pass it.
class Work {
 public:
  explicit Work(Size side) : memory_(static_cast<std::size_t>(8 * side * side + 1000)), length_(int(memory_.size())) {}
  void* memory() { return memory_.data(); }
  int* length() { return &length_; }

 private:
  std::vector<std::complex<double>> memory_;
  int length_;
};

/// Passes addresses, as Fortran does, followed by the lengths of the character arguments.
template <class... Argument>
void call_fortran(const std::string& name, Argument*... arguments) {
  using Function = void(Argument * ..., std::size_t, std::size_t, std::size_t);
  reinterpret_cast<Function*>(lapack_function(name))(arguments..., 1, 1, 1);
}

/// Holds a matrix in ordinary memory while LAPACK works on it, because OpenBLAS reads beyond the last column, where
/// device memory may end.
class Borrowed {
 public:
  Borrowed(int type, void* matrix, Size rows, Size columns, Size stride) : matrix_(static_cast<char*>(matrix)) {
    if (matrix == nullptr) return;
    const std::size_t bytes =
        static_cast<std::size_t>((columns - 1) * stride + rows) * blas::element_size(scalar_of(type));
    copy_.reserve(bytes + 65536);
    copy_.assign(matrix_, matrix_ + bytes);
  }
  ~Borrowed() { std::copy(copy_.begin(), copy_.end(), matrix_); }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  void* memory() { return matrix_ == nullptr ? nullptr : copy_.data(); }

 private:
  char* const matrix_;
  std::vector<char> copy_;
};

inline char fill_letter(int fill) {
  return fill == device::gpu::cuda::api::fill_upper ? 'U' : 'L';
}
inline char job_letter(int job) {
  return job == device::gpu::cuda::api::with_vectors ? 'V' : 'N';
}

inline void run_syevd(int type, int job, int fill, Size n, void* a, Size lda, void* w, int* info) {
  with_type(type, [&]<class T>(T) {
    using Real = decltype(std::real(T{}));
    solve_hermitian(View<T>{static_cast<T*>(a), lda}, n, fill == device::gpu::cuda::api::fill_upper,
                    job == device::gpu::cuda::api::with_vectors, static_cast<Real*>(w));
  });
  *info = 0;
}

inline void run_sygvd(int type, int itype, int job, int fill, int n, void* a, int lda, void* b, int ldb, void* w,
                      int* info) {
  char jobz = job_letter(job);
  char uplo = fill_letter(fill);
  Work work(n), rwork(n), iwork(n);
  Borrowed own_a(type, a, n, n, lda);
  Borrowed own_b(type, b, n, n, ldb);
  const auto call = [&](auto*... last) {
    call_fortran(name_of(type, "sygvd", "hegvd"), &itype, &jobz, &uplo, &n, own_a.memory(), &lda, own_b.memory(), &ldb,
                 w, work.memory(), work.length(), last..., iwork.memory(), iwork.length(), info);
  };
  if (blas::is_complex(scalar_of(type)))
    call(rwork.memory(), rwork.length());
  else
    call();
}

}  // namespace blastoff::fake_cuda
