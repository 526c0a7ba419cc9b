#include "device/gpu/cuda/cufft/library.h"

#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {

Result<api::Cufft> load_cufft(const LibrarySearch& search) {
  // The number in the file's name is the CUDA version minus one.
  return load_functions<api::Cufft>(
      file_for(search.driver_version, "cuFFT", "libcufft", {12, {}}, "nvidia-cufft", {11, {}}, "nvidia-cufft-cu12"),
      search.directory, "cufftCreate", "cuFFT 11.0 (CUDA 12.0)",
      [](void* library, api::Cufft& functions, const char*& missing) { BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_RESOLVE) });
}

}  // namespace blastoff::device::gpu::cuda
