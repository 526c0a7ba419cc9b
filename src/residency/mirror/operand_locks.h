// Page locks on the operands of a call that goes past the mirrors.
#pragma once

#include "residency/footprint.h"
#include "residency/mirror/coherence.h"
#include "residency/page_locks.h"

namespace blastoff::residency::mirror {

class OperandLocks final : public PageLocks {
 public:
  OperandLocks(Coherence& coherence, const operation::Operation& call)
      : coherence_(coherence), acquisition_(coherence.lock_operands(call)) {}
  ~OperandLocks() override { coherence_.unlock_operands(acquisition_); }
  OperandLocks(const OperandLocks&) = delete;
  OperandLocks& operator=(const OperandLocks&) = delete;

  bool readable(platform::Span host) const override { return locked(host, false); }
  bool writable(platform::Span host) const override { return locked(host, true); }

 private:
  bool locked(platform::Span host, bool results_only) const {
    const auto operands = acquisition_.call.operands();
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const Pins::Pin* const pin = acquisition_.pins[i];
      if (!pin || pin->gone || (results_only && !operation::writes(operands[i].intent))) continue;
      if (bounds(operands[i]).contains(host)) return true;
    }
    return false;
  }

  Coherence& coherence_;
  PageAcquisition acquisition_;  ///< of page locks, and of nothing else
};

}  // namespace blastoff::residency::mirror
