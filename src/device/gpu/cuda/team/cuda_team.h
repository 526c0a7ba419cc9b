// GPUs of several processes that compute together, by cuSOLVERMp and cuBLASMp over NCCL.
#pragma once

#include "device/team.h"

namespace blastoff::device::gpu::cuda {

bool may_run_in_team(const operation::Operation& operation);

/// As device::team_libraries().
std::vector<Library> team_libraries(int ordinal, const std::string& cuda_path);

/// `ordinal`: of the GPU, whose primary context the team shares with the Device.
Result<std::unique_ptr<TeamLibrary>> open_team_library(int ordinal, const std::string& cuda_path);

}  // namespace blastoff::device::gpu::cuda
