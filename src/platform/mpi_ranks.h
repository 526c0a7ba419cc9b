// The environment variables in which MPI libraries and batch systems tell a process its rank.
#pragma once

#include <array>

namespace blastoff::platform {

/// Among the processes of this host.
inline constexpr std::array local_rank_variables = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
    "PALS_LOCAL_RANKID",          "PMIX_LOCAL_RANK",           "SLURM_LOCALID"};

/// How many processes of the job this host has.
inline constexpr std::array local_size_variables = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_SIZE",
                                                    "MPI_LOCALNRANKS", "PALS_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"};

/// Among all processes of the job.
inline constexpr std::array global_rank_variables = {
    "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"};

}  // namespace blastoff::platform
