// Memory that lies in several mappings because part of it is watched: the kernel joins no mapping that it watches to
// one that it does not.
#pragma once

#include <cstddef>

namespace blastoff::platform {

using Mremap = void*(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);

/// What mremap(2) refuses (EFAULT) when the old range lies in several mappings, piece by piece: all of it, or nothing.
/// MAP_FAILED and EFAULT where the range is not private anonymous memory throughout, with the same rights everywhere.
/// `mremap` is the system call, as the program would reach it.
void* remap_pieces(Mremap* mremap, void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);

}  // namespace blastoff::platform
