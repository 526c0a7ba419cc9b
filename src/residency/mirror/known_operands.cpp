#include "residency/mirror/known_operands.h"

#include <algorithm>

#include "residency/footprint.h"

namespace blastoff::residency::mirror {

bool KnownOperands::remembers(const operation::Operand& operand) const {
  return std::any_of(remembered_.begin(), remembered_.begin() + count_,
                     [&](const operation::Operand& known) { return covers(known, operand); });
}

void KnownOperands::remember(const operation::Operand& operand) {
  forget_within(operand);
  count_ = std::min(count_ + 1, remembered_.size());
  std::move_backward(remembered_.begin(), remembered_.begin() + count_ - 1, remembered_.begin() + count_);
  remembered_.front() = operand;
}

void KnownOperands::forget_others(platform::Span page, const operation::Operand& operand) {
  const auto end = std::remove_if(
      remembered_.begin(), remembered_.begin() + count_,
      [&](const operation::Operand& known) { return bounds(known).overlaps(page) && !covers(operand, known); });
  count_ = static_cast<std::size_t>(end - remembered_.begin());
}

void KnownOperands::forget_within(const operation::Operand& operand) {
  const auto end = std::remove_if(remembered_.begin(), remembered_.begin() + count_,
                                  [&](const operation::Operand& known) { return covers(operand, known); });
  count_ = static_cast<std::size_t>(end - remembered_.begin());
}

}  // namespace blastoff::residency::mirror
