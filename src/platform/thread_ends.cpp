#include "platform/thread_ends.h"

#include <unistd.h>

#include <atomic>
#include <chrono>

#include "platform/thread_ids.h"

namespace blastoff::platform {
namespace {

/// Threads that have announced their end.
constinit ThreadIds ending;

}  // namespace

void announce_end() {
  ending.add(gettid());
}

void wait_for_announced_ends() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  const pid_t own = gettid();
  for (const std::atomic<pid_t>& place : ending) {
    const pid_t thread = place;
    if (thread == 0 || thread == own) continue;
    while (!is_gone(thread) && Clock::now() < deadline) usleep(50);
  }
}

}  // namespace blastoff::platform
