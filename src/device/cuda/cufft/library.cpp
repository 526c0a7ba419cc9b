#include "device/cuda/cufft/library.h"

#include "device/cuda/library_file.h"

namespace blastoff::device::cuda {

Result<api::Cufft> load_cufft(const LibrarySearch& search) {
  // The number in the file's name is the CUDA version minus one.
  const auto opened = open_library(
      file_for(search.driver_version, "cuFFT", "libcufft", {12, {}}, "nvidia-cufft", {11, {}}, "nvidia-cufft-cu12"),
      search.cuda_path);
  if (!opened) return tl::unexpected(opened.error());
  void* const library = *opened;

  api::Cufft cufft;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cufft.symbol, missing);
  BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return cufft;
  return tl::unexpected(too_old(library, "cufftCreate", missing, "cuFFT 11.0 (CUDA 12.0)"));
}

}  // namespace blastoff::device::cuda
