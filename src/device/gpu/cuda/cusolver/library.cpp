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
      [](void* library, api::Cusolver& cusolver, const char*& missing) {
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
      });
}

}  // namespace blastoff::device::gpu::cuda
