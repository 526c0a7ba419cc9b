// Large allocations on pages of their own: aligned, of huge pages, on the device's node.
#pragma once

#include <cstddef>

#include "../../include/blastoff_allocator.h"
#include "allocator/block_table.h"

namespace blastoff::allocator {

/// A block of at least `bytes` zeros at a multiple of `alignment` (a power of two). nullptr if it is not to be placed,
/// or cannot be: then the allocator behind ours serves the call.
void* place(std::size_t bytes, std::size_t alignment = 1);

/// Bytes of a placed block that the program may use; 0 if it is not one.
std::size_t placed_size(const void* pointer);

/// Frees a placed block; false if it is not one. Keeps errno.
bool release_placed(void* pointer);

/// realloc() of a placed block of `size` bytes.
void* resize_placed(void* block, std::size_t size, std::size_t bytes);

void read_counts(blastoff_placement& counts);

}  // namespace blastoff::allocator
