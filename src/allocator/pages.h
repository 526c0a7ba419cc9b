// Pages from the kernel, through the functions behind ours: others (MPI libraries) may watch those.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

/// Rounded up to whole pages; 0 where that is more than can be.
std::size_t whole_pages(std::size_t bytes);

enum class Access : unsigned char { none, full };

/// Fresh private pages at a multiple of `alignment`; nullptr if there are none.
void* map_aligned(std::size_t bytes, std::size_t alignment, Access access);

/// Gives the pages back; false if only they could be given back and not their addresses (too many mappings).
bool unmap(void* begin, std::size_t bytes);

/// Makes `size` bytes `bytes`: at `target`, which is replaced, or where they are.
bool remap(void* begin, std::size_t size, std::size_t bytes, void* target);

void advise_huge_pages(void* begin, std::size_t bytes);

}  // namespace blastoff::allocator
