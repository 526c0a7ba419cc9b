// Who else may write this process's memory, past its page table.
#pragma once

#include <optional>
#include <string>

namespace blastoff::platform {

/// A writer that page tracking cannot see, if this process has one now: memory pinned for a network card (VmPin with an
/// RDMA library loaded), memory attached by other processes (XPMEM). The text names it. Costs well under a microsecond
/// while no such library is loaded. What a GPU driver pins is not counted in VmPin.
std::optional<std::string> foreign_writer();

}  // namespace blastoff::platform
