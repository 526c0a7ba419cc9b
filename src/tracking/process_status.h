// What /proc/self/status says of this process.
#pragma once

#include <cstddef>

namespace blastoff::tracking {

/// Kilobytes pinned for devices (VmPin).
std::size_t pinned_kilobytes();
/// Kilobytes that the program has locked in memory (VmLck).
std::size_t locked_kilobytes();
/// Whether a debugger, or another tracer, is attached to the process.
bool is_traced();

}  // namespace blastoff::tracking
