// Whether anyone else may write this process's memory without using its page table.
#pragma once

#include <optional>
#include <string>

namespace blastoff::tracking {

/// Describes a writer that page tracking cannot see, if this process has one now: memory pinned for others (VmPin: a
/// network card, buffers registered with io_uring), or attached by other processes (XPMEM). Takes a few microseconds.
/// `pinned`: whether some of VmPin is not ours.
std::optional<std::string> dma_writer(bool pinned);

}  // namespace blastoff::tracking
