// Tells a process from the children forked of it, in whatever way: _Fork() and clone() pass by pthread_atfork().
#pragma once

#include <sys/types.h>

#include <atomic>

namespace blastoff::platform {

class ProcessMark {
 public:
  /// Marks the calling process. Never unmarked.
  ProcessMark();
  ProcessMark(const ProcessMark&) = delete;
  ProcessMark& operator=(const ProcessMark&) = delete;

  enum class Bearer {
    marked,  ///< the process that was marked
    child,   ///< a child, with a copy of its memory
    guest,   ///< a child that runs in its memory (vfork, CLONE_VM): what it changes there is changed for both
  };
  /// Who is asking. One system call.
  Bearer bearer() const;

 private:
  const pid_t process_;
  /// On a page that is zero in every child, since a child in another PID namespace may have the same number; nullptr
  /// where the kernel has no such pages (before Linux 4.14).
  std::atomic<int>* mark_;
};

}  // namespace blastoff::platform
