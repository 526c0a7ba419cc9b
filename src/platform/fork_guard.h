// While the program forks, no other thread holds a lock that the child may need: those of the dynamic linker and of
// Blastoff. A child that inherits such a lock from a thread that it does not have waits for ever at its first BLAS
// call.
#pragma once

namespace blastoff::platform {

/// The process does not fork while one of these lives. Used around every call into the dynamic linker, and around every
/// lock that a forked child takes too. May be nested.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// For pthread_atfork. The waits are bounded, because a thread inside may be waiting for a lock that the forking thread
/// holds.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

/// Whether this process has forked so far, in a way that calls these.
bool has_forked();

}  // namespace blastoff::platform
