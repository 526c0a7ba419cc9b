// The hooks that replace patched functions of level 1.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

Hook vector_hook(abi::Style style, std::uint16_t routine);

}  // namespace blastoff::intercept
