// No thread holds what a forked child may need while the program forks: the dynamic linker's locks and ours. A child
// that finds one taken by a thread that it does not have waits for ever, at its first BLAS call.
#pragma once

namespace blastoff::platform {

/// The process does not fork while one lives. Around every call into the dynamic linker, and wherever a lock is taken
/// that a forked child takes too. May be nested.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// For pthread_atfork. Waits are bounded: who is inside may be waiting for a lock that the forking thread holds.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace blastoff::platform
