// NVIDIA's libraries, loaded while the program runs: the driver and cuBLAS.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "device/cuda/api.h"
#include "device/error.h"

namespace blastoff::device::cuda {

namespace api {

/// The driver's entry points, all set but the optional ones.
struct Driver {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_DRIVER_SYMBOLS(BLASTOFF_MEMBER)
  BLASTOFF_OPTIONAL_DRIVER_SYMBOLS(BLASTOFF_MEMBER)
};

/// cuBLAS's entry points, all set; routines are indexed by blas::Scalar (hemm, herk, her2k: c and z alone).
struct Cublas {
  BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
  std::array<Gemm*, 4> gemm{};
  std::array<Symm*, 4> symm{}, hemm{};
  std::array<Syrk*, 4> syrk{}, herk{};
  std::array<Syr2k*, 4> syr2k{}, her2k{};
  std::array<Trmm*, 4> trmm{};
  std::array<Trsm*, 4> trsm{};
};

}  // namespace api

/// libcuda.so.1. Stays loaded for good.
Result<api::Driver> load_driver();

/// The libcublas that fits a driver of this version (as cuDriverGetVersion says it: 12040 for CUDA 12.4), from
/// `cuda_path`, what the program has loaded already, the loader's search path, or the places in search_path.h. Stays
/// loaded for good.
Result<api::Cublas> load_cublas(const std::string& cuda_path, int driver_version);

}  // namespace blastoff::device::cuda
