// Pages from the kernel, through the functions behind ours, which others (MPI libraries) may intercept.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

/// Rounded up to whole pages; 0 on overflow.
std::size_t whole_pages(std::size_t bytes);

enum class Access : unsigned char { none, full };

/// Fresh private pages at a multiple of `alignment`; nullptr if there are none.
void* map_aligned(std::size_t bytes, std::size_t alignment, Access access);

/// Frees the pages. False if their memory was freed but their addresses could not be (too many mappings).
bool unmap(void* begin, std::size_t bytes);

/// Resizes a block from `size` to `bytes` bytes: at `target`, which is replaced, or in place.
bool remap(void* begin, std::size_t size, std::size_t bytes, void* target);

void advise_huge_pages(void* begin, std::size_t bytes);

}  // namespace blastoff::allocator
