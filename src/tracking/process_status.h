// What /proc/self/status counts of this process's memory.
#pragma once

#include <cstddef>

namespace blastoff::tracking {

/// Kilobytes pinned for devices (VmPin).
std::size_t pinned_kilobytes();
/// Kilobytes that the program has locked in memory (VmLck).
std::size_t locked_kilobytes();

}  // namespace blastoff::tracking
