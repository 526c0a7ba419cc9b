// Copying memory that others may be writing.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// memcpy, as a DMA engine would do it: unseen by ThreadSanitizer. For whole pages of the program's memory, of which
/// other threads may be writing elements that the call has nothing to do with: the copies of those are found outdated
/// later.
void racing_copy(void* destination, const void* source, std::size_t bytes);

}  // namespace blastoff::platform
