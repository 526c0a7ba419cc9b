// Operands whose bytes on current pages of a chunk are known to be current, so that they need not be examined one by
// one at the next use.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "operation/operand.h"
#include "platform/span.h"
#include "residency/footprint.h"

namespace blastoff::residency::mirror {

class KnownOperands {
 public:
  /// Whether the operand lies within a remembered one. Then all of its bytes on current pages are current.
  bool remembers(const operation::Operand& operand) const {
    return std::any_of(remembered_.begin(), remembered_.begin() + count_,
                       [&](const operation::Operand& known) { return covers(known, operand); });
  }
  void remember(const operation::Operand& operand) {
    forget_if([&](const operation::Operand& known) { return covers(operand, known); });
    count_ = std::min(count_ + 1, remembered_.size());
    std::move_backward(remembered_.begin(), remembered_.begin() + count_ - 1, remembered_.begin() + count_);
    remembered_.front() = operand;
  }
  /// The page becomes current for the operand's bytes alone: forgets the operands that may have other bytes on it.
  void forget_others(platform::Span page, const operation::Operand& operand) {
    forget_if([&](const operation::Operand& known) { return bounds(known).overlaps(page) && !covers(operand, known); });
  }

 private:
  template <class Predicate>
  void forget_if(Predicate&& predicate) {
    const auto end = std::remove_if(remembered_.begin(), remembered_.begin() + count_, predicate);
    count_ = static_cast<std::size_t>(end - remembered_.begin());
  }

  std::array<operation::Operand, 16> remembered_;  ///< latest first
  std::size_t count_ = 0;
};

}  // namespace blastoff::residency::mirror
