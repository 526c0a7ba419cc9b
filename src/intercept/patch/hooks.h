// The way into the hooks, which are what patched functions do instead: one for each routine and calling style, of every
// front end.
#pragma once

#include "intercept/patch/patched_function.h"

// A hook has the parameters of the function that it stands for, and no other: which function was called comes beside
// them, in a register of the entry stub's, and waits here until the hook has begun. (Nothing else runs in between on
// this thread.)
extern "C" {
[[gnu::visibility("hidden"),
  gnu::tls_model(
      "initial-exec")]] extern constinit thread_local const blastoff::intercept::PatchedFunction* blastoff_called;
}

namespace blastoff::intercept::patch {

/// Where entry stubs lead, with the PatchedFunction as their context. It goes on to that function's hook.
const void* hooks_entrance();

}  // namespace blastoff::intercept::patch
