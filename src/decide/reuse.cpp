#include "decide/reuse.h"

namespace blastoff::decide {

void Reuse::learn(std::uint64_t brought, std::uint64_t found) {
  const std::lock_guard lock(mutex_);
  brought_ += brought;
  found_ += found;
  if (--calls_to_try_ > 0) return;
  if (found_ >= brought_) {
    calls_to_try_ = first_trial;
    backoff_.succeeded();
  } else {
    calls_to_try_ = later_trial;
    backoff_.failed();
  }
  brought_ = found_ = 0;
}

}  // namespace blastoff::decide
