// What patched functions do instead: one hook for each routine and calling style.
#pragma once

#include "abi/entry_point.h"

namespace blastoff::intercept::patch {

/// Where entry stubs lead, with the PatchedFunction as their context. It goes on to that function's hook.
const void* hooks_entrance();

/// The hook for a routine's parameters.
void (*find_hook(abi::Style style, blas::Routine routine))();

}  // namespace blastoff::intercept::patch
