// Copying memory that others may be writing.
#pragma once

#include <cstddef>

namespace blastoff::platform {

/// memcpy, as a DMA engine would do it: unseen by ThreadSanitizer and AddressSanitizer. For whole pages of the
/// program's memory: other threads may be writing elements on them that the call has nothing to do with (the copies of
/// those are found outdated later), and an allocator's guard zones may lie there too.
void racing_copy(void* destination, const void* source, std::size_t bytes);

}  // namespace blastoff::platform
