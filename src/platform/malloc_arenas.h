// Who allocates, and the memory in which the C library's allocator keeps its lists.
#pragma once

#include <cstdint>
#include <string>

#include "platform/span.h"

namespace blastoff::platform {

/// The file name of the library or the program that has malloc() in place of the C library; "" if none has.
std::string other_allocator();

/// Whether glibc's allocator may write to the span while it holds its locks: in the heap that grows by brk, and in the
/// heaps of its other arenas. It gives large blocks mappings of their own, where it does not. Takes about a
/// microsecond where the kernel can report single mappings.
bool in_malloc_arena(Span span);

/// Where the mapping of a block of glibc's allocator ends, if a block with a mapping of its own begins at the address,
/// and not at the begin of a page; else 0. Only the block's header lies on the page before it. Reads that.
std::uintptr_t end_of_malloc_mapping(std::uintptr_t address);

}  // namespace blastoff::platform
