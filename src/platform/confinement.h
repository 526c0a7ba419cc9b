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

}  // namespace blastoff::platform
