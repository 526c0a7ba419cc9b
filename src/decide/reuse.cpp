#include "decide/reuse.h"

#include <algorithm>

namespace blastoff::decide {

bool Reuse::may_try() {
  if (calls_to_pause_.load(std::memory_order_relaxed) <= 0) return true;
  return calls_to_pause_.fetch_sub(1, std::memory_order_relaxed) <= 0;
}

void Reuse::learn(std::uint64_t brought, std::uint64_t found) {
  const std::lock_guard lock(mutex_);
  brought_ += brought;
  found_ += found;
  if (--calls_to_try_ > 0) return;
  if (found_ >= brought_) {
    calls_to_try_ = first_trial;
    next_pause_ = first_pause;
  } else {
    calls_to_pause_ = next_pause_;
    calls_to_try_ = later_trial;
    next_pause_ = std::min(2 * next_pause_, longest_pause);
  }
  brought_ = found_ = 0;
}

}  // namespace blastoff::decide
