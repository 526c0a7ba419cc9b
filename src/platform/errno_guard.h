// Keeps errno.
#pragma once

#include <cerrno>

namespace blastoff::platform {

/// Its destructor restores errno. Not for a frame above an original (docs/notes.md, "Nothing to clean up").
class ErrnoGuard {
 public:
  ErrnoGuard() = default;
  ~ErrnoGuard() { errno = saved_; }
  ErrnoGuard(const ErrnoGuard&) = delete;
  ErrnoGuard& operator=(const ErrnoGuard&) = delete;

 private:
  const int saved_ = errno;
};

}  // namespace blastoff::platform
