// The file that a descriptor number refers to. The program may close any number and reuse it for another file.
#pragma once

#include <sys/stat.h>

#include "platform/errno_guard.h"

namespace blastoff::platform {

struct FileIdentity {
  bool open = false;
  dev_t file_system = 0;
  ino_t inode = 0;
  dev_t device = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// Some 130 ns. Keeps errno.
inline FileIdentity file_identity(int number) {
  const ErrnoGuard errno_stays;
  struct stat status;
  const bool open = fstat(number, &status) == 0;
  if (!open) return {};
  return {true, status.st_dev, status.st_ino, status.st_rdev};
}

}  // namespace blastoff::platform
