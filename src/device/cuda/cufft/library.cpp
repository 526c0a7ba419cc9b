#include "device/cuda/cufft/library.h"

#include <fmt/format.h>

#include "device/cuda/cublas/api.h"
#include "device/cuda/library_file.h"

namespace blastoff::device::cuda {
namespace {

/// The number in the file's name is the CUDA version minus one.
LibraryFile cufft_file(int driver_version) {
  const bool any = driver_version >= 13000;
  LibraryFile file{.title = "cuFFT",
                   .name = "libcufft",
                   .releases = {{11, {}}},
                   .package = any ? "nvidia-cufft" : "nvidia-cufft-cu12"};
  if (any) file.releases.insert(file.releases.begin(), LibraryRelease{12, {}});
  return file;
}

}  // namespace

Result<api::Cufft> load_cufft(const LibrarySearch& search) {
  const auto opened = open_library(cufft_file(search.driver_version), search.cuda_path);
  if (!opened) return tl::unexpected(opened.error());
  void* const library = *opened;

  api::Cufft cufft;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cufft.symbol, missing);
  BLASTOFF_CUFFT_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return cufft;
  return tl::unexpected(
      Error{ErrorKind::unavailable, fmt::format("{} lacks {}: cuFFT 11.0 (CUDA 12.0) or newer is needed",
                                                path_of(dlsym(library, "cufftCreate"), "libcufft"), missing)});
}

std::string version_text(const api::Cufft& cufft) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  cufft.cufftGetProperty(api::property_major, &major);
  cufft.cufftGetProperty(api::property_minor, &minor);
  cufft.cufftGetProperty(api::property_patch, &patch);
  return fmt::format("cuFFT {}.{}.{}", major, minor, patch);
}

}  // namespace blastoff::device::cuda
