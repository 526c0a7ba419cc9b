// A program may forbid itself system calls (seccomp). From then on Blastoff makes none on its threads: the kernel could
// end the process for it.
#pragma once

#include <atomic>

namespace blastoff::platform {

namespace detail {
inline constinit std::atomic<bool> is_confined{false};
}  // namespace detail

/// Whether the program has forbidden system calls, or is about to.
inline bool confined() {
  return detail::is_confined.load(std::memory_order_relaxed);
}

/// Permanent. To be called when nothing of Blastoff's is left to be done.
inline void confine() {
  detail::is_confined.store(true, std::memory_order_seq_cst);
}

/// Whether prctl() with these arguments puts a filter of system calls (seccomp) in force. A filter without an address
/// only asks whether the kernel has filters.
bool requests_filter(int option, unsigned long mode, unsigned long filter);

/// The same of the system call with this number.
bool requests_filter_by_number(long number, long a, long b, long c);

}  // namespace blastoff::platform
