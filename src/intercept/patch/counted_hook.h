// The hook of all functions that are counted.
#pragma once

#include <cstdint>

#include "intercept/patch/patched_function.h"

extern "C" {
/// Calls the function in `blastoff_called` (patch/hooks.h) with the caller's registers and a copy of the caller's
/// arguments on the stack, between the two functions below.
[[gnu::visibility("hidden")]] void blastoff_counted_hook();

/// Notes the beginning of a call, and returns the function to call. `frame`: an address in the hook's stack frame.
[[gnu::visibility("hidden")]] const void* blastoff_counted_begin(const blastoff::intercept::PatchedFunction* called,
                                                                 std::uintptr_t frame);
[[gnu::visibility("hidden")]] void blastoff_counted_end();
}
