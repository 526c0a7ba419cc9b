// Operands whose bytes on current pages of a chunk are known to be current, so that they need not be examined one by
// one at the next use.
#pragma once

#include <array>
#include <cstddef>

#include "operation/operand.h"
#include "platform/span.h"

namespace blastoff::residency::mirror {

class KnownOperands {
 public:
  /// Whether the operand lies within a remembered one. Then all of its bytes on current pages are current.
  bool remembers(const operation::Operand& operand) const;
  void remember(const operation::Operand& operand);
  /// The page becomes current for the operand's bytes alone: forgets the operands that may have other bytes on it.
  void forget_others(platform::Span page, const operation::Operand& operand);

 private:
  void forget_within(const operation::Operand& operand);

  std::array<operation::Operand, 16> remembered_;  ///< latest first
  std::size_t count_ = 0;
};

}  // namespace blastoff::residency::mirror
