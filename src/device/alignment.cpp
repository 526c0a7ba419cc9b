#include "device/alignment.h"

#include <fmt/format.h>

namespace blastoff::device {

Status check_alignment(const blas::Call& call) {
  for (const auto& operand : call.operands()) {
    if (reinterpret_cast<std::uintptr_t>(operand.address) % operand.element_size == 0) continue;
    return tl::unexpected(
        Error{ErrorKind::unsupported, fmt::format("an operand of {} is not aligned to its elements' {} bytes",
                                                  blas::row(call.routine).name, operand.element_size)});
  }
  return {};
}

}  // namespace blastoff::device
