// A key for calls of one routine on the same matrices.
#pragma once

#include <cstdint>

#include "operation/operation.h"

namespace blastoff::runtime {

/// Equal for all calls of the routine with matrices of these sizes at these addresses (FNV-1a by Fowler, Noll and Vo,
/// over words).
inline std::uint64_t operands_key(const operation::Operation& operation) {
  std::uint64_t key = 0xcbf29ce484222325U;
  const auto add = [&](std::uint64_t word) { key = (key ^ word) * 0x100000001b3U; };
  add(operation.routine());
  for (const operation::Operand& operand : operation.operands()) {
    add(reinterpret_cast<std::uintptr_t>(operand.address));
    add(static_cast<std::uint64_t>(operand.rows));
    add(static_cast<std::uint64_t>(operand.columns));
  }
  return key;
}

}  // namespace blastoff::runtime
