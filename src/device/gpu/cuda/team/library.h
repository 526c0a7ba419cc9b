// NCCL, cuSOLVERMp and cuBLASMp, loaded while the program runs.
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "device/gpu/cuda/team/api.h"
#include "device/gpu/executor.h"
#include "device/library.h"

namespace blastoff::device::gpu::cuda {

namespace api {

struct Nccl {
#define BLASTOFF_MEMBER(symbol, ...) std::add_pointer_t<__VA_ARGS__> symbol = nullptr;
  BLASTOFF_NCCL_SYMBOLS(BLASTOFF_MEMBER)
};
struct CusolverMp {
  BLASTOFF_CUSOLVERMP_SYMBOLS(BLASTOFF_MEMBER)
};
struct CublasMp {
  BLASTOFF_CUBLASMP_SYMBOLS(BLASTOFF_MEMBER)
#undef BLASTOFF_MEMBER
};

}  // namespace api

struct TeamLibraries {
  api::Nccl nccl;
  Result<api::CusolverMp> solver;
  Result<api::CublasMp> blas;
};

/// NCCL, and at least one of the two others. They stay loaded for good. The error is one line: what is missing, where
/// it was looked for, what to do.
Result<TeamLibraries> load_team_libraries(const LibrarySearch& search);

/// What is there of them. A GPU's context must be current; `ordinal`: its number.
std::vector<Library> describe_team_libraries(const LibrarySearch& search, int ordinal);

}  // namespace blastoff::device::gpu::cuda
