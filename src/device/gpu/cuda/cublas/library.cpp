#include "device/gpu/cuda/cublas/library.h"

#include <cstdlib>

#include "blas/types.h"
#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {

Result<api::Cublas> load_cublas(const std::string& cuda_path, int driver_version) {
  return load_functions<api::Cublas>(file_for(driver_version, "cuBLAS", "libcublas", {13, {"libcublasLt.so.13"}},
                                              "nvidia-cublas", {12, {"libcublasLt.so.12"}}, "nvidia-cublas-cu12"),
                                     cuda_path, "cublasCreate_v2", "cuBLAS 12.0",
                                     [](void* library, api::Cublas& functions, const char*& missing) {
                                       BLASTOFF_CUBLAS_SYMBOLS(BLASTOFF_RESOLVE)
                                       BLASTOFF_CUBLAS_ROUTINES(BLASTOFF_RESOLVE_TYPE)
                                     });
}

std::string version_text(const api::Cublas& cublas) {
  // NVIDIA's own setting: products in double precision are made from integer products.
  const char* const emulate = std::getenv("CUBLAS_EMULATE_DOUBLE_PRECISION");
  const bool emulates = emulate != nullptr && std::strtol(emulate, nullptr, 10) != 0;
  return version_text("cuBLAS", cublas.cublasGetProperty) + (emulates ? " with FP64 emulation" : "");
}

}  // namespace blastoff::device::gpu::cuda
