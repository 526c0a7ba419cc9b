// Branches to anywhere, in as few bytes as the distance allows.
#pragma once

#include <cstdint>

#include "intercept/patch/code_buffer.h"

namespace blastoff::intercept::patch::x86_64 {

/// Whether 32 bits of displacement lead from the byte behind an instruction to `target`.
bool reaches(std::uint64_t behind, std::uint64_t target);

/// 5 bytes where that reaches, else 14.
void put_jump(CodeBuffer& out, std::uint64_t target);
/// `condition` as in the low four bits of the instruction's code.
void put_conditional_jump(CodeBuffer& out, std::uint8_t condition, std::uint64_t target);
void put_call(CodeBuffer& out, std::uint64_t target);

}  // namespace blastoff::intercept::patch::x86_64
