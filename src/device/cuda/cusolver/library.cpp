#include "device/cuda/cusolver/library.h"

#include <fmt/format.h>

#include "blas/types.h"
#include "device/cuda/library_file.h"

namespace blastoff::device::cuda {
namespace {

/// The number in the file's name is the CUDA version minus one.
LibraryFile cusolver_file(int driver_version) {
  const bool any = driver_version >= 13000;
  LibraryFile file{
      .title = "cuSOLVER",
      .name = "libcusolver",
      .releases = {{11, {"libnvJitLink.so.12", "libcublasLt.so.12", "libcublas.so.12", "libcusparse.so.12"}}},
      .package = any ? "nvidia-cusolver" : "nvidia-cusolver-cu12"};
  if (any) {
    const LibraryRelease newer{12, {"libnvJitLink.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusparse.so.12"}};
    file.releases.insert(file.releases.begin(), newer);
  }
  return file;
}

}  // namespace

Result<api::Cusolver> load_cusolver(const LibrarySearch& search) {
  const auto opened = open_library(cusolver_file(search.driver_version), search.cuda_path);
  if (!opened) return tl::unexpected(opened.error());
  void* const library = *opened;

  api::Cusolver cusolver;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cusolver.symbol, missing);
  BLASTOFF_CUSOLVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  const char* too_new = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cusolver.symbol, too_new);
  BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
#define BLASTOFF_RESOLVE(symbol, member, scalar, signature) \
  resolve(library, #symbol, cusolver.member[static_cast<std::size_t>(blas::Scalar::scalar)], missing);
  BLASTOFF_CUSOLVER_ROUTINES(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return cusolver;
  return tl::unexpected(
      Error{ErrorKind::unavailable, fmt::format("{} lacks {}: cuSOLVER 11.4 (CUDA 12.0) or newer is needed",
                                                path_of(dlsym(library, "cusolverDnCreate"), "libcusolver"), missing)});
}

std::string version_text(const api::Cusolver& cusolver) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  cusolver.cusolverGetProperty(api::property_major, &major);
  cusolver.cusolverGetProperty(api::property_minor, &minor);
  cusolver.cusolverGetProperty(api::property_patch, &patch);
  return fmt::format("cuSOLVER {}.{}.{}", major, minor, patch);
}

}  // namespace blastoff::device::cuda
