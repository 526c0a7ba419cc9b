// Large allocations on pages of their own: aligned, with huge pages, on the device's node.
#pragma once

#include <cstddef>

#include "../../include/blastoff_allocator.h"
#include "allocator/block_table.h"

namespace blastoff::allocator {

/// Allocates a block of at least `bytes` zeros at a multiple of `alignment` (a power of two). nullptr if the block is
/// not to be placed, or cannot be placed: then the next allocator serves the call.
void* place(std::size_t bytes, std::size_t alignment = 1);

/// Returns how many bytes of a placed block the program may use; 0 if `pointer` is not a placed block.
std::size_t placed_size(const void* pointer);

/// Frees a placed block. Returns false if `pointer` is not one. Preserves errno.
bool release_placed(void* pointer);

/// Acts as realloc() for a placed block of `size` bytes.
void* resize_placed(void* block, std::size_t size, std::size_t bytes);

void read_counts(blastoff_placement& counts);

}  // namespace blastoff::allocator
