#include "device/cuda/cublas/library.h"

#include <cstdlib>

#include <fmt/format.h>

#include "blas/types.h"
#include "device/cuda/library_file.h"

namespace blastoff::device::cuda {

Result<api::Cublas> load_cublas(const std::string& cuda_path, int driver_version) {
  const bool any = driver_version >= 13000;
  LibraryFile file{.title = "cuBLAS",
                   .name = "libcublas",
                   .releases = {{12, {"libcublasLt.so.12"}}},
                   .package = any ? "nvidia-cublas" : "nvidia-cublas-cu12"};
  if (any) file.releases.insert(file.releases.begin(), LibraryRelease{13, {"libcublasLt.so.13"}});
  const auto opened = open_library(file, cuda_path);
  if (!opened) return tl::unexpected(opened.error());
  void* const library = *opened;

  api::Cublas cublas;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(library, #symbol, cublas.symbol, missing);
  BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
#define BLASTOFF_RESOLVE(symbol, member, scalar, signature) \
  resolve(library, #symbol, cublas.member[static_cast<std::size_t>(blas::Scalar::scalar)], missing);
  BLASTOFF_CUBLAS_ROUTINES(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return cublas;
  return tl::unexpected(
      Error{ErrorKind::unavailable, fmt::format("{} lacks {}: cuBLAS 12.0 or newer is needed",
                                                path_of(dlsym(library, "cublasCreate_v2"), "libcublas"), missing)});
}

std::string version_text(const api::Cublas& cublas) {
  int major = 0;
  int minor = 0;
  int patch = 0;
  cublas.cublasGetProperty(api::property_major, &major);
  cublas.cublasGetProperty(api::property_minor, &minor);
  cublas.cublasGetProperty(api::property_patch, &patch);
  // NVIDIA's own setting: products in double precision are made from integer products.
  const char* const emulate = std::getenv("CUBLAS_EMULATE_DOUBLE_PRECISION");
  const bool emulates = emulate != nullptr && std::strtol(emulate, nullptr, 10) != 0;
  return fmt::format("cuBLAS {}.{}.{}{}", major, minor, patch, emulates ? " with FP64 emulation" : "");
}

}  // namespace blastoff::device::cuda
