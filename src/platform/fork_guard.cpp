#include "platform/fork_guard.h"

#include <time.h>

#include <atomic>

namespace blastoff::platform {
namespace {

constinit std::atomic<int> inside{0};
constinit std::atomic<int> forking{0};
constinit std::atomic<bool> forked_once{false};

/// Number of guards that this thread holds. A thread that holds one must not wait for a fork, which waits for it.
[[gnu::tls_model("initial-exec")]] constinit thread_local int depth = 0;

/// Limits the waiting to a few seconds in total.
constexpr int max_pauses = 20'000;

void pause() {
  constexpr timespec length{0, 50'000};
  nanosleep(&length, nullptr);
}

/// Enters, unless the process is forking.
bool enter() {
  inside.fetch_add(1);
  if (forking.load() == 0) return true;
  inside.fetch_sub(1);
  return false;
}

}  // namespace

ForkGuard::ForkGuard() {
  if (depth++ > 0) return;
  for (int i = 0; i < max_pauses; ++i) {
    if (enter()) return;
    pause();
  }
  inside.fetch_add(1);
}

ForkGuard::~ForkGuard() {
  if (--depth == 0) inside.fetch_sub(1);
}

void before_fork() {
  forking.fetch_add(1);
  // The forking thread's own guards do not count.
  const int own = depth > 0 ? 1 : 0;
  for (int i = 0; i < max_pauses && inside.load() > own; ++i) pause();
}

void after_fork_in_parent() {
  forked_once = true;
  forking.fetch_sub(1);
}

void after_fork_in_child() {
  inside = depth > 0 ? 1 : 0;
  forking = 0;
}

bool has_forked() {
  return forked_once;
}

}  // namespace blastoff::platform
