// What patched functions of ScaLAPACK do instead: one hook for each routine.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

Hook scalapack_hook(abi::Style style, std::uint16_t routine);

}  // namespace blastoff::intercept
