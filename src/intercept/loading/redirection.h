// Redirects a function of the C library to a hook of ours, where exporting its name would come too late.
#pragma once

#include <atomic>

namespace blastoff::intercept {

/// Replaces the first instructions of the function that `symbol` means to this library by a jump to `hook`. From then
/// on `original` is what acts like the function itself; it is set before the first call arrives. False: the function
/// cannot be patched, and nothing has changed.
bool redirect(const char* symbol, const void* hook, std::atomic<void*>& original);

}  // namespace blastoff::intercept
