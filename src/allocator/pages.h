// Gets pages from the kernel, by the next functions in the search order, which others (MPI libraries) may intercept.
#pragma once

#include <cstddef>

namespace blastoff::allocator {

/// Rounds up to whole pages; 0 on overflow.
std::size_t whole_pages(std::size_t bytes);

enum class Access : unsigned char { none, full };

/// Maps fresh private pages at a multiple of `alignment`; nullptr if there are none.
void* map_aligned(std::size_t bytes, std::size_t alignment, Access access);

/// Frees the pages. Returns false if their memory was freed but their addresses could not be (too many mappings).
bool unmap(void* begin, std::size_t bytes);

/// Resizes a block from `size` to `bytes` bytes: in place if `target` is nullptr, otherwise at `target`, whose pages
/// are replaced.
bool remap(void* begin, std::size_t size, std::size_t bytes, void* target);

void advise_huge_pages(void* begin, std::size_t bytes);

}  // namespace blastoff::allocator
