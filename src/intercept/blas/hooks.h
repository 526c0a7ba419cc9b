// The hooks that replace patched BLAS functions: one for each routine and calling style.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

Hook blas_hook(abi::Style style, std::uint16_t routine);

}  // namespace blastoff::intercept
