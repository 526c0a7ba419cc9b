// Writes branches and addresses, in as few instructions as the distance allows.
#pragma once

#include <cstdint>

#include "intercept/patch/code_buffer.h"

namespace blastoff::intercept::patch::aarch64 {

/// How a jump or call reaches a distant target.
struct FarBranch {
  unsigned scratch = 17;  ///< the register that holds the target: 16 or 17
  /// True if the target may be code that accepts indirect branches only at landing pads. The jump is then a `ret`,
  /// which needs no landing pad.
  bool by_return = false;
};

/// 4 bytes if `b` reaches the target, otherwise 16.
void put_jump(CodeBuffer& out, std::uint64_t target, FarBranch far);
/// `word` is a conditional branch; its own target is ignored.
void put_conditional_jump(CodeBuffer& out, std::uint32_t word, std::uint64_t target, FarBranch far);
void put_call(CodeBuffer& out, std::uint64_t target, FarBranch far);
/// Sets a register to `value`.
void put_address(CodeBuffer& out, unsigned number, std::uint64_t value);

}  // namespace blastoff::intercept::patch::aarch64
