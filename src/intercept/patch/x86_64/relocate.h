// Rewrites one instruction so that it has the same effect at another address.
#pragma once

#include <optional>
#include <span>

#include "intercept/patch/code_buffer.h"
#include "intercept/patch/obstacle.h"
#include "intercept/patch/x86_64/instruction.h"

namespace blastoff::intercept::patch::x86_64 {

/// Appends `instruction`, whose encoding is `bytes`, to `out`.
std::optional<Obstacle> relocate(const Instruction& instruction, std::span<const std::byte> bytes, CodeBuffer& out);

}  // namespace blastoff::intercept::patch::x86_64
