// Copies memory that other threads may be writing.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// memcpy as a DMA engine would do it: invisible to ThreadSanitizer and AddressSanitizer. For whole pages of the
/// program's memory. Other threads may write elements on these pages that do not belong to the call (their copies are
/// later found to be out of date), and an allocator's guard zones may lie there, too.
void racing_copy(void* destination, const void* source, std::size_t bytes);

}  // namespace blastoff::platform
