// Facts about this process.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace blastoff::platform {

/// Rank among the processes of the job on this node, from the variables in platform/mpi_ranks.h; -1 if none is set.
int local_rank();
/// Number of processes of the job on this node; 1 if nothing tells.
int local_size();
/// Rank in the whole job; -1 if no variable tells.
int global_rank();
/// Number of processes of the job; 0 if no variable tells.
int global_size();

/// Name of the running executable (argv[0]'s base name), and the machine's host name.
std::string program_name();
std::string host_name();

/// The words of the command line.
std::vector<std::string> command_words();

/// One line that a shell splits into these words.
std::string command_line(const std::vector<std::string>& words = command_words());

/// Whether the program was started with more rights than its caller has (set-user-ID, set-group-ID, file capabilities).
/// Then nothing that the caller chooses may be used, neither variables nor paths.
bool has_elevated_rights();

/// Seconds that all threads of the process have computed so far, together.
double cpu_seconds();

/// Seconds that the calling thread has computed so far, without those in which it waited for a core.
double own_cpu_seconds();

/// The processor's name as the system gives it; "" if it gives none.
std::string cpu_name();

/// Seconds from the start of process `pid` to the start of this process, in steps of some 10 ms; 0 if that is not
/// known.
double seconds_started_after(int pid);

/// Number of BLAS threads that environment variables request (OPENBLAS_NUM_THREADS, MKL_NUM_THREADS, BLIS_NUM_THREADS,
/// OMP_NUM_THREADS); 0 if none does.
int requested_threads();

/// BLAS kernels that environment variables request (OPENBLAS_CORETYPE, MKL_ENABLE_INSTRUCTIONS, BLIS_ARCH_TYPE); "" if
/// none does.
std::string requested_kernels();

/// Bytes of main memory of this machine.
std::size_t physical_memory();

/// Kernel release, as uname -r.
std::string kernel_release();

}  // namespace blastoff::platform
