// A key for calls of one routine on the same matrices.
#pragma once

#include <cstdint>

#include "operation/operation.h"
#include "platform/fnv_hash.h"

namespace blastoff::runtime {

/// Equal for all calls of the routine with matrices of these sizes at these addresses.
inline std::uint64_t operands_key(const operation::Operation& operation) {
  platform::FnvHash key;
  key.add(operation.routine());
  for (const operation::Operand& operand : operation.operands()) {
    key.add(reinterpret_cast<std::uintptr_t>(operand.address));
    key.add(static_cast<std::uint64_t>(operand.rows));
    key.add(static_cast<std::uint64_t>(operand.columns));
  }
  return key.value();
}

}  // namespace blastoff::runtime
