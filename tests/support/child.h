// Child processes of tests.
#pragma once

#include <sys/types.h>
#include <sys/wait.h>

namespace blastoff::test {

/// Waits for the child. Returns its status as waitpid(2) does; -1 if there is no such child.
inline int status_of(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

}  // namespace blastoff::test
