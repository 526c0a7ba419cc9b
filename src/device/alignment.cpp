#include "device/alignment.h"

#include <fmt/format.h>

namespace blastoff::device {

Status check_alignment(const operation::Operation& operation) {
  for (const auto& operand : operation.operands()) {
    if (reinterpret_cast<std::uintptr_t>(operand.address) % operand.element_size == 0) continue;
    return tl::unexpected(
        Error{ErrorKind::unsupported, fmt::format("an operand of {} is not aligned to its elements' {} bytes",
                                                  operation.name(), operand.element_size)});
  }
  return {};
}

}  // namespace blastoff::device
