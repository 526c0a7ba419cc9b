// Writes branches to any address, in as few bytes as the distance allows, and rewrites instructions so that they have
// the same effect at another address.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "intercept/patch/code_buffer.h"
#include "intercept/patch/obstacle.h"
#include "intercept/patch/x86_64/instruction.h"

namespace blastoff::intercept::patch::x86_64 {

/// Whether a displacement of 32 bits leads to `target` from `behind`, the address after an instruction.
bool reaches(std::uint64_t behind, std::uint64_t target);

/// 5 bytes if that reaches, otherwise 14.
void put_jump(CodeBuffer& out, std::uint64_t target);
/// `condition` as in the low four bits of the instruction's code.
void put_conditional_jump(CodeBuffer& out, std::uint8_t condition, std::uint64_t target);
void put_call(CodeBuffer& out, std::uint64_t target);

/// Appends `instruction`, whose encoding is `bytes`, to `out`.
std::optional<Obstacle> relocate(const Instruction& instruction, std::span<const std::byte> bytes, CodeBuffer& out);

}  // namespace blastoff::intercept::patch::x86_64
