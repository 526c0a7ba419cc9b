// cuSOLVER, loaded while the program runs.
#pragma once

#include <array>
#include <string>
#include <type_traits>

#include "device/gpu/cuda/cusolver/api.h"
#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

namespace api {

/// cuSOLVER's entry points, all set but the optional ones. Routines are indexed by blas::Scalar; those for 32-bit reals
/// exist for s and c only, those for 64-bit reals for d and z only.
struct Cusolver {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_CUSOLVER_SYMBOLS(BLASTOFF_MEMBER)
  BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
  std::array<Laswp*, 4> laswp{};
  std::array<PotriSize*, 4> potri_size{};
  std::array<Potri*, 4> potri{};
  std::array<SytrfSize*, 4> sytrf_size{};
  std::array<Sytrf*, 4> sytrf{};
  std::array<OrgqrSize*, 4> orgqr_size{};
  std::array<Orgqr*, 4> orgqr{};
  std::array<OrmqrSize*, 4> ormqr_size{};
  std::array<Ormqr*, 4> ormqr{};
  std::array<SygvdSize*, 4> sygvd_size{};
  std::array<Sygvd*, 4> sygvd{};
  std::array<SygvdxSize32*, 4> sygvdx_size_32{};
  std::array<SygvdxSize64*, 4> sygvdx_size_64{};
  std::array<Sygvdx32*, 4> sygvdx_32{};
  std::array<Sygvdx64*, 4> sygvdx_64{};
};

}  // namespace api

/// The libcusolver that fits the driver; see open_library(). Stays loaded for good.
Result<api::Cusolver> load_cusolver(const LibrarySearch& search);

}  // namespace blastoff::device::gpu::cuda
