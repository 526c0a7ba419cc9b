// Notices every object that the dynamic linker loads or unloads, whoever asked for it and by whichever dlclose().
#pragma once

#include <atomic>
#include <cstdint>

// Counted by code that a jump in the dynamic linker leads to.
extern "C" {
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint64_t> blastoff_linker_changes;
}

namespace blastoff::intercept {

/// Counts on when an object is about to be mapped, when it has been, when the code of one that goes has run for the
/// last time, and when it is gone. 0: changes are not noticed.
inline std::uint64_t linker_changes() {
  return blastoff_linker_changes.load(std::memory_order_acquire);
}

/// From here on changes are noticed, if the system allows it. The dynamic linker announces them to debuggers by calling
/// a function that does nothing (r_brk in <link.h>). It is patched and counts.
void notice_changes();

}  // namespace blastoff::intercept
