// NVIDIA's GPUs.
#pragma once

#include "device/gpu/cuda/cuda_users.h"
#include "device/gpu/cuda/team/cuda_team.h"
#include "device/kind_functions.h"

namespace blastoff::device::gpu::cuda {

/// `choice.name` is "cuda" or "cuda:N".
Result<std::unique_ptr<Device>> open(const Choice& choice);

/// Number of GPUs that the driver shows to this process; at least 1.
Result<int> count(const Choice& choice);

/// See device::expected().
Expected expected();

/// See device::absence().
std::string absence();

inline constexpr KindFunctions functions_of_kind{.open = open,
                                                 .count = count,
                                                 .expected = expected,
                                                 .absence = absence,
                                                 .driver_use = cuda_use,
                                                 .is_name_of_drivers_thread = is_name_of_drivers_thread,
                                                 .may_run_in_team = may_run_in_team,
                                                 .team_libraries = team_libraries,
                                                 .open_team_library = open_team_library};

}  // namespace blastoff::device::gpu::cuda
