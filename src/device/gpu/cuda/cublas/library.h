// cuBLAS, loaded while the program runs.
#pragma once

#include <array>
#include <string>
#include <type_traits>

#include "device/error.h"
#include "device/gpu/cuda/cublas/api.h"

namespace blastoff::device::gpu::cuda {

namespace api {

/// cuBLAS's entry points, all set. Routines are indexed by blas::Scalar; the pointer is null if the routine does not
/// exist() for that type.
struct Cublas {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
  std::array<Gemm*, 4> gemm{};
  std::array<GemmStridedBatched*, 4> gemm_batch_strided{};
  std::array<Symm*, 4> symm{}, hemm{};
  std::array<Syrk*, 4> syrk{}, herk{};
  std::array<Syr2k*, 4> syr2k{}, her2k{};
  std::array<Trmm*, 4> trmm{};
  std::array<Trsm*, 4> trsm{};
  std::array<TrsmBatched*, 4> trsm_batch{};
  std::array<Gemv*, 4> gemv{};
  std::array<Symv*, 4> symv{}, hemv{};
  std::array<Swap*, 4> swap{};
  std::array<Copy*, 4> copy{};
  std::array<Scal*, 4> scal{}, real_scal{};
  std::array<Axpy*, 4> axpy{};
  std::array<Tpttr*, 4> tpttr{};
  std::array<Trttp*, 4> trttp{};
};

}  // namespace api

/// The libcublas that fits a driver of this version (as cuDriverGetVersion gives it: 12040 for CUDA 12.4); see
/// open_library(). Stays loaded for good.
Result<api::Cublas> load_cublas(const std::string& cuda_path, int driver_version);

/// "cuBLAS 13.0.2".
std::string version_text(const api::Cublas& cublas);

}  // namespace blastoff::device::gpu::cuda
