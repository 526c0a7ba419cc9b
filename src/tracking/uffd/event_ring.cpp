#include "tracking/uffd/event_ring.h"

#include <sched.h>

#include <chrono>

namespace blastoff::tracking {

bool EventRing::settle() const {
  const std::uint64_t begun = reads_begun_.load(std::memory_order_seq_cst);
  const auto settled = [&] { return reads_done_.load(std::memory_order_acquire) >= begun; };
  for (int i = 0; i < 100; ++i) {
    if (settled()) return true;
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!settled()) {
    if (std::chrono::steady_clock::now() > deadline) return settled();
    sched_yield();
  }
  return true;
}

}  // namespace blastoff::tracking
