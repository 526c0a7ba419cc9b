// Memory in which the C library's allocator keeps its lists.
#pragma once

#include "platform/span.h"

namespace blastoff::platform {

/// Whether glibc's allocator may write to the span while it holds its locks: in the heap that grows by brk, and in the
/// heaps of its other arenas. It gives large blocks mappings of their own, where it does not. Takes about a
/// microsecond where the kernel can report single mappings.
bool in_malloc_arena(Span span);

}  // namespace blastoff::platform
