// Rewrites one instruction so that it has the same effect at another address.
#pragma once

#include "intercept/patch/aarch64/emit.h"
#include "intercept/patch/aarch64/instruction.h"

namespace blastoff::intercept::patch::aarch64 {

/// Appends `instruction` to `out`.
void relocate(const Instruction& instruction, CodeBuffer& out, FarBranch far);

}  // namespace blastoff::intercept::patch::aarch64
