// The bytes that an operation's operands hold, and classes of amounts.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>

#include "operation/operation.h"

namespace blastoff::operation {

/// Bytes of the elements that the operation uses. An operand that is read and written counts once.
inline std::uint64_t part_bytes(const Operation& operation) {
  std::uint64_t bytes = 0;
  for (const Operand& operand : operation.operands()) bytes += operand.part_bytes();
  return bytes;
}

/// The same of the operands with such an intent: operation::reads or operation::writes.
inline std::uint64_t part_bytes(const Operation& operation, bool (*counts)(Intent)) {
  std::uint64_t bytes = 0;
  for (const Operand& operand : operation.operands())
    if (counts(operand.intent)) bytes += operand.part_bytes();
  return bytes;
}

/// Bytes of whole matrices, even if only triangles of them are used.
inline std::size_t payload_bytes(std::span<const Operand> operands) {
  std::size_t bytes = 0;
  for (const Operand& operand : operands) bytes += operand.payload_bytes();
  return bytes;
}

/// A class of amounts: the logarithm in steps of a factor of the square root of 2; 0 for all amounts below 1.
inline std::int64_t half_octave(double amount) {
  return static_cast<std::int64_t>(2 * std::log2(std::max(1.0, amount)));
}

}  // namespace blastoff::operation
