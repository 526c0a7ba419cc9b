// The cost of bringing an operation's operands to a device.
#pragma once

#include <cstdint>
#include <optional>

#include "operation/estimate.h"
#include "operation/operation.h"
#include "runtime/device_context.h"

namespace blastoff::runtime {

/// Bytes of the operands that the operation reads.
inline std::uint64_t bytes_read(const operation::Operation& operation) {
  std::uint64_t bytes = 0;
  for (const operation::Operand& operand : operation.operands())
    if (!operand.empty() && operation::reads(operand.intent)) bytes += operand.part_bytes();
  return bytes;
}

/// Bytes of all operands of the operation.
inline std::uint64_t bytes_of(const operation::Operation& operation) {
  std::uint64_t bytes = 0;
  for (const operation::Operand& operand : operation.operands()) bytes += operand.part_bytes();
  return bytes;
}

/// The bytes that would cross the link of this device before the operation can run. Operands that do not fit into the
/// free device memory drive out other matrices, which have to be brought again.
inline double bytes_to_bring(DeviceContext& context, const operation::Operation& operation,
                             const std::optional<operation::Estimate>& found) {
  const std::uint64_t missing = found ? found->missing + found->dirty : bytes_read(operation);
  double bytes = static_cast<double>(missing);
  if (!context.device().accountant().fits(device::MemoryClient::mirrors, missing)) bytes *= 2;
  if (bytes_of(operation) > context.budget()) bytes += 8 * static_cast<double>(bytes_of(operation));
  return bytes;
}

}  // namespace blastoff::runtime
