// Tells that the process ends, before anything of it is ended.
#pragma once

namespace blastoff::intercept {

/// From here on `observer` is called at the beginning of the C library's exit(), in the thread that calls it: before
/// the destructors of that thread's own data, and before all exit handlers, also those that are registered later.
/// exit() is patched. False: it cannot be.
bool observe_exit(void (*observer)());

}  // namespace blastoff::intercept
