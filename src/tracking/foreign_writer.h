// Who else may write this process's memory, past its page table.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace blastoff::tracking {

/// A writer that page tracking cannot see, if this process has one now: memory pinned for somebody else than us (VmPin:
/// a network card, buffers registered with io_uring), memory attached by other processes (XPMEM). The text names it.
/// Some microseconds. `own_pins`: what of VmPin is ours, in kilobytes; what NVIDIA's driver pins is not counted there.
std::optional<std::string> foreign_writer(std::size_t own_pins);

/// Kilobytes pinned for devices in this process, as VmPin of /proc/self/status says.
std::size_t pinned_kilobytes();

}  // namespace blastoff::tracking
