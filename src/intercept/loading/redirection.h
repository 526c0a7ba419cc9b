// Redirects a function of the C library to a hook of ours, if exporting its name would come too late.
#pragma once

#include <atomic>

namespace blastoff::intercept {

/// Replaces the first instructions of the function that `symbol` means to this library by a jump to `hook`. No other
/// function of its source file may call it. `original` is set, before the first call arrives, to code that acts like
/// the unpatched function. Returns false if the function cannot be patched; then nothing has changed.
bool redirect(const char* symbol, const void* hook, std::atomic<void*>& original);

}  // namespace blastoff::intercept
