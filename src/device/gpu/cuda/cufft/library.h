// cuFFT, loaded while the program runs.
#pragma once

#include <string>
#include <type_traits>

#include "device/gpu/cuda/cufft/api.h"
#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

namespace api {

/// cuFFT's entry points, all set.
struct Cufft {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
};

}  // namespace api

/// The libcufft that fits the driver; see open_library(). Stays loaded for good.
Result<api::Cufft> load_cufft(const LibrarySearch& search);

}  // namespace blastoff::device::gpu::cuda
