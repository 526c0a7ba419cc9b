#include "residency/mirror/operand_locks.h"

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

bool OperandLocks::locked(platform::Span host, bool results_only) const {
  const auto operands = hold_.call.operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Pins::Pin* const pin = hold_.pins[i];
    if (!pin || pin->gone || (results_only && !operation::writes(operands[i].intent))) continue;
    if (bounds(operands[i]).contains(host)) return true;
  }
  return false;
}

}  // namespace blastoff::residency::mirror
