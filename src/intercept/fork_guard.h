// No thread of ours is inside the dynamic linker while the program forks: its locks do not survive that, and a child
// that finds one taken by a thread it does not have waits for ever, at its first BLAS call.
#pragma once

namespace blastoff::intercept {

/// Stands for a thread inside the dynamic linker.
class InsideLinker {
 public:
  InsideLinker();
  ~InsideLinker();
  InsideLinker(const InsideLinker&) = delete;
  InsideLinker& operator=(const InsideLinker&) = delete;
};

/// For pthread_atfork. Waits are bounded: who is inside may be waiting for a lock that the forking thread holds.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace blastoff::intercept
