// The environment variables in which MPI libraries and batch systems tell a process its rank.
//
// The first variable that is set counts. A launcher that starts a process directly comes before one that may have
// started the launcher (srun starts the daemons of mpirun, and Flux runs inside a job of Slurm).
#pragma once

#include <array>

namespace blastoff::platform {

/// The rank among the processes of this host, as set by Open MPI, MVAPICH2, MPICH and Intel MPI (Hydra), Cray PALS, IBM
/// jsrun, PMIx, Flux, Slurm.
inline constexpr std::array local_rank_variables = {
    "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",    "PALS_LOCAL_RANKID",
    "JSM_NAMESPACE_LOCAL_RANK",   "PMIX_LOCAL_RANK",           "FLUX_TASK_LOCAL_ID", "SLURM_LOCALID"};

/// The number of processes of the job on this host. Slurm and Flux tell it in other ways; see local_size().
inline constexpr std::array local_size_variables = {"OMPI_COMM_WORLD_LOCAL_SIZE",
                                                    "MV2_COMM_WORLD_LOCAL_SIZE",
                                                    "MPI_LOCALNRANKS",
                                                    "PALS_LOCAL_SIZE",
                                                    "JSM_NAMESPACE_LOCAL_SIZE",
                                                    "PMIX_LOCAL_SIZE"};

/// The rank among all processes of the job.
inline constexpr std::array global_rank_variables = {
    "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "PMIX_RANK",      "PMI_RANK",
    "PALS_RANKID",          "JSM_NAMESPACE_RANK",  "FLUX_TASK_RANK", "SLURM_PROCID"};

/// The number of processes of the job.
inline constexpr std::array global_size_variables = {
    "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE",  "PMI_SIZE",    "JSM_NAMESPACE_SIZE",
    "FLUX_JOB_SIZE",        "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"};

/// srun sets this for the processes that it starts. The script of a batch job has SLURM_PROCID and SLURM_LOCALID, too,
/// but is no rank.
inline constexpr const char* slurm_step_variable = "SLURM_STEP_ID";
inline constexpr const char* slurm_prefix = "SLURM_";

}  // namespace blastoff::platform
