// Reading back the jump that a patch has written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// The address to which code jumps at once (after an endbr64 or bti, and what may stand before a JumpPlace or be its
/// undoing), by any jump that this module writes; nullopt: it does not.
std::optional<std::uint64_t> jump_target(Architecture architecture, std::span<const std::byte> code,
                                         std::uint64_t address);

}  // namespace blastoff::intercept::patch
