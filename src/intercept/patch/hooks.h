// The way into the hooks that replace patched functions. There is one hook for each routine and calling style of every
// front end.
#pragma once

#include "intercept/function_of.h"
#include "intercept/patch/patched_function.h"

// A hook has exactly the parameters of the function that it replaces. The entry stub passes the PatchedFunction in a
// register; this variable holds it until the hook reads it. (Nothing else runs in between on this thread.)
extern "C" {
[[gnu::visibility("hidden"),
  gnu::tls_model(
      "initial-exec")]] extern constinit thread_local const blastoff::intercept::PatchedFunction* blastoff_called;
}

namespace blastoff::intercept::patch {

/// Returns the address to which entry stubs jump, with the PatchedFunction as their context. The code there jumps to
/// that function's hook.
const void* hooks_entrance();

}  // namespace blastoff::intercept::patch

namespace blastoff::intercept {

/// A call of a patched function, which Enter::enter() passes to the routine.
template <class Enter>
struct FunctionCalled {
  using Parameters = typename Enter::Parameters;

  template <class... Values>
  [[gnu::always_inline]] static auto call(Values... values) {
    const PatchedFunction& function = *blastoff_called;
    return Enter::enter(function.entry, function.original, values...);
  }
};

/// The hook that passes calls of a patched function to Enter::enter().
template <class Enter>
Hook hook_of() {
  return reinterpret_cast<Hook>(function_of<FunctionCalled<Enter>>);
}

}  // namespace blastoff::intercept
