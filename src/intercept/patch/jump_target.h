// Reads back the jump that a patch has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// Returns the address to which code jumps at once, by any jump that this module writes; nullopt: it does not jump. An
/// endbr64 or bti may stand before the jump, and also instructions that precede a JumpPlace or undo them.
std::optional<std::uint64_t> jump_target(Architecture architecture, std::span<const std::byte> code,
                                         std::uint64_t address);

}  // namespace blastoff::intercept::patch
