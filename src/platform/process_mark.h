// Distinguishes a process from its forked children. _Fork() and clone() do not call the handlers of pthread_atfork().
#pragma once

#include <sys/types.h>

#include <atomic>

namespace blastoff::platform {

class ProcessMark {
 public:
  /// Marks the calling process, permanently.
  ProcessMark();
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  enum class Bearer {
    marked,  ///< the process that was marked
    child,   ///< a child, with a copy of its memory
    guest,   ///< a child that shares its memory (vfork, CLONE_VM)
  };
  /// The caller's relation to the marked process. One system call.
  Bearer bearer() const;

 private:
  const pid_t process_;
  /// On a page that the kernel clears in every child, because a child in another PID namespace may have the same
  /// process id. nullptr if the kernel has no such pages (before Linux 4.14).
  std::atomic<int>* mark_;
};

}  // namespace blastoff::platform
