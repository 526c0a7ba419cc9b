#include "device/gpu/cuda/team/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "device/gpu/cuda/cublas/library.h"
#include "device/gpu/cuda/cusolver/library.h"
#include "device/gpu/cuda/library_file.h"

namespace blastoff::device::gpu::cuda {
namespace {

Result<api::Nccl> load_nccl(const LibrarySearch& search) {
  const bool any = search.driver_version >= 13000;
  const auto opened = open_library({.title = "NCCL",
                                    .name = "libnccl",
                                    .releases = {{2, {}}},
                                    .package = any ? "nvidia-nccl-cu13" : "nvidia-nccl-cu12"},
                                   search.directory);
  if (!opened) return tl::unexpected(opened.error());
  api::Nccl nccl;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(*opened, #symbol, nccl.symbol, missing);
  BLASTOFF_NCCL_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  if (missing == nullptr) return nccl;
  return tl::unexpected(too_old(*opened, "ncclGetVersion", missing, "NCCL 2.18"));
}

Result<api::CusolverMp> load_cusolver_mp(const LibrarySearch& search) {
  const bool any = search.driver_version >= 13000;
  // It is linked with cuSOLVER, which the loader finds if it is there already, wherever its files are.
  if (auto solver = load_cusolver(search); !solver) return tl::unexpected(solver.error());
  const auto opened = open_library({.title = "cuSOLVERMp",
                                    .name = "libcusolverMp",
                                    .releases = {{0, {}}},
                                    .package = any ? "nvidia-cusolvermp-cu13" : "nvidia-cusolvermp-cu12"},
                                   search.directory);
  if (!opened) return tl::unexpected(opened.error());
  api::CusolverMp solver;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(*opened, #symbol, solver.symbol, missing);
  BLASTOFF_CUSOLVERMP_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  // Before 0.7 it did not take communicators of NCCL.
  if (missing == nullptr && dlsym(*opened, "cusolverMpSetMathMode") == nullptr) missing = "cusolverMpSetMathMode";
  if (missing == nullptr) return solver;
  return tl::unexpected(too_old(*opened, "cusolverMpCreate", missing, "cuSOLVERMp 0.7"));
}

Result<api::CublasMp> load_cublas_mp(const LibrarySearch& search) {
  const bool any = search.driver_version >= 13000;
  if (auto blas = load_cublas(search.directory, search.driver_version); !blas) return tl::unexpected(blas.error());
  const auto opened = open_library({.title = "cuBLASMp",
                                    .name = "libcublasmp",
                                    .releases = {{0, {}}},
                                    .package = any ? "nvidia-cublasmp-cu13" : "nvidia-cublasmp-cu12"},
                                   search.directory);
  if (!opened) return tl::unexpected(opened.error());
  api::CublasMp blas;
  const char* missing = nullptr;
#define BLASTOFF_RESOLVE(symbol, ...) resolve(*opened, #symbol, blas.symbol, missing);
  BLASTOFF_CUBLASMP_SYMBOLS(BLASTOFF_RESOLVE)
#undef BLASTOFF_RESOLVE
  // Earlier versions have these names, too. Their arguments have not been compared.
  int version = 0;
  constexpr int first = 700;
  if (missing == nullptr && (blas.cublasMpGetVersion(&version) != api::blas_mp_success || version < first))
    missing = "version 0.7";
  if (missing == nullptr) return blas;
  return tl::unexpected(too_old(*opened, "cublasMpCreate", missing, "cuBLASMp 0.7"));
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
