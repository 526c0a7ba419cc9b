#include "platform/thread_ends.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>

namespace blastoff::platform {
namespace {

/// Ids of the threads that have announced their end; 0: a free place. If more threads end at once than there are
/// places, some are not waited for.
constinit std::array<std::atomic<pid_t>, 256> ending{};

/// In a forked child, the threads of its parent are gone.
bool is_gone(pid_t thread) {
  constexpr int no_signal = 0;
  return syscall(SYS_tgkill, getpid(), thread, no_signal) != 0;
}

}  // namespace

void announce_end() {
  const pid_t own = gettid();
  for (std::atomic<pid_t>& place : ending) {
    pid_t there = place;
    if (there != 0 && !is_gone(there)) continue;
    if (place.compare_exchange_strong(there, own)) return;
  }
}

void wait_for_announced_ends() {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::seconds(1);
  const pid_t own = gettid();
  for (std::atomic<pid_t>& place : ending) {
    const pid_t thread = place;
    if (thread == 0 || thread == own) continue;
    while (!is_gone(thread) && Clock::now() < deadline) usleep(50);
  }
}

}  // namespace blastoff::platform
