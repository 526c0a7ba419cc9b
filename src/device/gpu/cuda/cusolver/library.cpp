#include "device/gpu/cuda/cusolver/library.h"

#include "blas/types.h"
#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {
Result<api::Cusolver> load_cusolver(const LibrarySearch& search) {
  // The number in the file's name is the CUDA version minus one.
  return load_functions<api::Cusolver>(
      file_for(search.driver_version, "cuSOLVER", "libcusolver",
               {12, {"libnvJitLink.so.13", "libcublasLt.so.13", "libcublas.so.13", "libcusparse.so.12"}},
               "nvidia-cusolver",
               {11, {"libnvJitLink.so.12", "libcublasLt.so.12", "libcublas.so.12", "libcusparse.so.12"}},
               "nvidia-cusolver-cu12"),
      search.directory, "cusolverDnCreate", "cuSOLVER 11.4 (CUDA 12.0)",
      [](void* library, api::Cusolver& functions, const char*& missing) {
        BLASTOFF_OPTIONAL_CUSOLVER_SYMBOLS(BLASTOFF_RESOLVE)
        missing = nullptr;  // those are too new for some releases
        BLASTOFF_CUSOLVER_SYMBOLS(BLASTOFF_RESOLVE)
        BLASTOFF_CUSOLVER_ROUTINES(BLASTOFF_RESOLVE_TYPE)
      });
}

}  // namespace blastoff::device::gpu::cuda
