// The cost of bringing an operation's operands to a device.
#pragma once

#include <cstdint>
#include <optional>

#include "operation/amounts.h"
#include "operation/estimate.h"
#include "runtime/device_context.h"

namespace blastoff::runtime {

/// The bytes that would cross the link of this device before the operation can run. Operands that do not fit into the
/// free device memory drive out other matrices, which have to be brought again.
inline double bytes_to_bring(DeviceContext& context, const operation::Operation& operation,
                             const std::optional<operation::Estimate>& found) {
  const std::uint64_t missing = found ? found->missing + found->dirty : part_bytes(operation, operation::reads);
  double bytes = static_cast<double>(missing);
  if (!context.device().accountant().fits(device::MemoryClient::mirrors, missing)) bytes *= 2;
  if (part_bytes(operation) > context.budget()) bytes += 8 * static_cast<double>(part_bytes(operation));
  return bytes;
}

}  // namespace blastoff::runtime
