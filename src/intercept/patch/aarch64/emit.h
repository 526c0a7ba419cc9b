// Branches and addresses, in as few instructions as the distance allows.
#pragma once

#include <cstdint>

#include "intercept/patch/code_buffer.h"

namespace blastoff::intercept::patch::aarch64 {

/// How far jumps and calls are made.
struct FarBranch {
  unsigned scratch = 17;  ///< the register that holds the target: 16 or 17
  /// The target may be code that accepts indirect branches only at its landing pads: arrive by `ret`, which is none.
  bool by_return = false;
};

/// 4 bytes where `b` reaches, else 16.
void put_jump(CodeBuffer& out, std::uint64_t target, FarBranch far);
/// `word` is a conditional branch, whatever it leads to.
void put_conditional_jump(CodeBuffer& out, std::uint32_t word, std::uint64_t target, FarBranch far);
void put_call(CodeBuffer& out, std::uint64_t target, FarBranch far);
/// Sets a register to `value`.
void put_address(CodeBuffer& out, unsigned number, std::uint64_t value);

}  // namespace blastoff::intercept::patch::aarch64
