// Notices that the process is about to exit.
#pragma once

namespace blastoff::intercept {

/// Calls `observer` from now on at the beginning of the C library's exit(), in the thread that calls exit(). That is
/// before the destructors of the thread's own data, and before all exit handlers, even those registered later. Patches
/// exit(). Returns false if that is impossible.
bool observe_exit(void (*observer)());

}  // namespace blastoff::intercept
