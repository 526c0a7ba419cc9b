#include "device/gpu/cuda/team/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "device/gpu/cuda/cublas/library.h"
#include "device/gpu/cuda/cusolver/library.h"
#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {
namespace {

/// The library has the same name for each release of CUDA.
LibraryFile file_of(const LibrarySearch& search, const char* title, const char* name, int version,
                    const char* package_of_cuda_13, const char* package_of_cuda_12) {
  return {title, name, {{version, {}}}, search.driver_version >= 13000 ? package_of_cuda_13 : package_of_cuda_12};
}

Result<api::Nccl> load_nccl(const LibrarySearch& search) {
  return load_functions<api::Nccl>(
      file_of(search, "NCCL", "libnccl", 2, "nvidia-nccl-cu13", "nvidia-nccl-cu12"), search.directory, "ncclGetVersion",
      "NCCL 2.18",
      [](void* library, api::Nccl& functions, const char*& missing) { BLASTOFF_NCCL_SYMBOLS(BLASTOFF_RESOLVE) });
}

Result<api::CusolverMp> load_cusolver_mp(const LibrarySearch& search) {
  // It is linked with cuSOLVER, which the loader finds if it is there already, wherever its files are.
  if (auto solver = load_cusolver(search); !solver) return tl::unexpected(solver.error());
  return load_functions<api::CusolverMp>(
      file_of(search, "cuSOLVERMp", "libcusolverMp", 0, "nvidia-cusolvermp-cu13", "nvidia-cusolvermp-cu12"),
      search.directory, "cusolverMpCreate", "cuSOLVERMp 0.7",
      [](void* library, api::CusolverMp& functions, const char*& missing) {
        BLASTOFF_CUSOLVERMP_SYMBOLS(BLASTOFF_RESOLVE)
        // Before 0.7 it did not take communicators of NCCL.
        if (missing == nullptr && dlsym(library, "cusolverMpSetMathMode") == nullptr) missing = "cusolverMpSetMathMode";
      });
}

/// NVSHMEM ends the process if two GPUs cannot reach each other, as on two nodes without InfiniBand. Without it,
/// cuBLASMp uses NCCL alone.
void leave_out_nvshmem() {
  constexpr int never_overwrite = 0;
  setenv("CUBLASMP_DISABLE_NVSHMEM", "1", never_overwrite);
}

Result<api::CublasMp> load_cublas_mp(const LibrarySearch& search) {
  leave_out_nvshmem();
  if (auto blas = load_cublas(search.directory, search.driver_version); !blas) return tl::unexpected(blas.error());
  return load_functions<api::CublasMp>(
      file_of(search, "cuBLASMp", "libcublasmp", 0, "nvidia-cublasmp-cu13", "nvidia-cublasmp-cu12"), search.directory,
      "cublasMpCreate", "cuBLASMp 0.7", [](void* library, api::CublasMp& functions, const char*& missing) {
        BLASTOFF_CUBLASMP_SYMBOLS(BLASTOFF_RESOLVE)
        // Earlier versions have these names, too. Their arguments have not been compared.
        int version = 0;
        constexpr int first = 700;
        if (missing == nullptr && (functions.cublasMpGetVersion(&version) != api::blas_mp_success || version < first))
          missing = "version 0.7";
      });
}

/// "cuBLASMp 0.7.0" for 700; `thousands`: how much the first number counts.
std::string version_of(const char* title, int version, int thousands = 1000) {
  return fmt::format("{} {}.{}.{}", title, version / thousands, version % thousands / 100, version % 100);
}

std::string version_of(const api::Nccl& nccl) {
  int version = 0;
  nccl.ncclGetVersion(&version);
  return version_of("NCCL", version, 10000);
}

/// Its version is known to a handle.
std::string version_of(const api::CusolverMp& solver, int ordinal) {
  api::solverMpHandle handle = nullptr;
  if (solver.cusolverMpCreate(&handle, ordinal, nullptr) != api::solver_success) return "cuSOLVERMp";
  int version = 0;
  solver.cusolverMpGetVersion(handle, &version);
  solver.cusolverMpDestroy(handle);
  return version_of("cuSOLVERMp", version);
}

std::string version_of(const api::CublasMp& blas) {
  int version = 0;
  blas.cublasMpGetVersion(&version);
  return version_of("cuBLASMp", version);
}

}  // namespace

Result<TeamLibraries> load_team_libraries(const LibrarySearch& search) {
  const auto nccl = load_nccl(search);
  if (!nccl) return tl::unexpected(nccl.error());
  TeamLibraries libraries{*nccl, load_cusolver_mp(search), load_cublas_mp(search)};
  if (!libraries.solver && !libraries.blas) return tl::unexpected(libraries.solver.error());
  return libraries;
}

std::vector<Library> describe_team_libraries(const LibrarySearch& search, int ordinal) {
  const auto nccl = load_nccl(search);
  const auto solver = load_cusolver_mp(search);
  const auto blas = load_cublas_mp(search);
  const auto error = [](const auto& library) { return library ? std::string() : library.error().message; };
  return {{"messages between GPUs", nccl ? version_of(*nccl) : "", error(nccl)},
          {"p?potrf, p?potrs, p?posv, p?getrf, p?gesv, p?syev, p?syevd, p?sygst",
           solver ? version_of(*solver, ordinal) : "", error(solver)},
          {"p?gemm, p?trsm, p?syrk", blas ? version_of(*blas) : "", error(blas)}};
}

}  // namespace blastoff::device::gpu::cuda
