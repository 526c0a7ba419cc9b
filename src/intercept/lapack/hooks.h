// The hooks that replace patched functions of LAPACK: one for each routine.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

Hook lapack_hook(abi::Style style, std::uint16_t routine);

}  // namespace blastoff::intercept
