// Which matrices a call reads.
#pragma once

#include <cstddef>
#include <span>

#include "operation/operand.h"

namespace blastoff::residency {

/// Whether the call reads the matrix, and it is not one that an earlier operand is, as in the product of a matrix with
/// itself: a call uses a matrix once. Transient operands are not matrices of the program.
inline bool reads_matrix(std::span<const operation::Operand> operands, std::size_t index) {
  const operation::Operand& operand = operands[index];
  if (operand.empty() || operand.transient || !operation::reads(operand.intent)) return false;
  for (const operation::Operand& earlier : operands.first(index))
    if (earlier.address == operand.address && operation::reads(earlier.intent) && !earlier.transient &&
        earlier.payload_bytes() >= operand.payload_bytes())
      return false;
  return true;
}

}  // namespace blastoff::residency
