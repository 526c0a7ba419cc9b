// Memory that lies in several mappings because part of it is tracked: the kernel does not merge a tracked mapping with
// an untracked one.
#pragma once

#include <cstddef>

namespace blastoff::platform {

using Mremap = void*(void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);

/// Does what mremap(2) refuses (EFAULT) if the old range lies in several mappings: moves it piece by piece, completely
/// or not at all. MAP_FAILED and EFAULT if the range is not private anonymous memory with the same protection
/// throughout. `mremap` is the system call that the program would reach.
void* remap_pieces(Mremap* mremap, void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target);

}  // namespace blastoff::platform
