// While the program forks, no other thread may hold a lock that the child needs: a lock of the dynamic linker or of
// Blastoff. If a child inherits such a lock from a thread that it does not have, it waits for ever at its first BLAS
// call.
#pragma once

namespace blastoff::platform {

/// The process does not fork while an object lives. Used around every call into the dynamic linker, and around every
/// lock that a forked child takes too. May be nested.
class ForkGuard {
 public:
  ForkGuard();
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;
};

/// Handlers for pthread_atfork. Their waits are limited, because a thread with a guard may be waiting for a lock that
/// the forking thread holds.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

/// Whether this process has forked so far in a way that calls these handlers.
bool has_forked();

}  // namespace blastoff::platform
