// Notices every object that the dynamic linker loads or unloads, whoever asked for it.
#pragma once

#include <atomic>
#include <cstdint>

// The counting code increments this. A jump in the dynamic linker leads to that code.
extern "C" {
[[gnu::visibility("hidden")]] extern constinit std::atomic<std::uint64_t> blastoff_linker_changes;
}

namespace blastoff::intercept {

/// Returns a count that rises four times: when an object is about to be mapped, when it has been mapped, when the last
/// code of an object that is being unloaded has run, and when it is gone. 0: changes are not noticed.
inline std::uint64_t linker_changes() {
  return blastoff_linker_changes.load(std::memory_order_acquire);
}

/// Starts to notice changes, if the system allows it. The dynamic linker announces changes to debuggers by calling an
/// empty function (r_brk in <link.h>). This patches that function so that it counts its calls.
void notice_changes();

}  // namespace blastoff::intercept
