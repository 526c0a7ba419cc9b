// The functions behind ours: the C library's, or those of another allocator that comes next in the search order.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

/// A function that is looked up once. Threads that look it up at the same time find the same.
template <class Function>
using Slot = std::atomic<Function*>;

/// Looked up with dlsym(RTLD_NEXT), each by itself: what the program would be bound to without us.
struct Next {
  Slot<void*(std::size_t)> malloc;
  Slot<void(void*)> free;
  Slot<void*(std::size_t, std::size_t)> calloc;
  Slot<void*(void*, std::size_t)> realloc;
  Slot<void*(std::size_t, std::size_t)> memalign;
  Slot<void*(std::size_t, std::size_t)> aligned_alloc;
  Slot<int(void**, std::size_t, std::size_t)> posix_memalign;
  Slot<void*(std::size_t)> valloc;
  Slot<void*(std::size_t)> pvalloc;
  Slot<std::size_t(void*)> usable_size;

  Slot<void*(void*, std::size_t, int, int, int, std::int64_t)> mmap;
  Slot<int(void*, std::size_t)> munmap;
  Slot<void*(void*, std::size_t, std::size_t, int, ...)> mremap;
  Slot<int(void*, std::size_t, int)> madvise;
  Slot<int(void*)> brk;
  Slot<void*(std::intptr_t)> sbrk;
};

extern Next next;

/// What free() and realloc() of other people's blocks go to: `next`'s, or those that tell libblastoff first
/// (notifications.h).
struct Release {
  Slot<void(void*)> free;
  Slot<void*(void*, std::size_t)> realloc;
};

extern Release release;

/// Fills in `next`. Called at the first call of any of our functions, which may come before any constructor. False in a
/// call made by the search itself; the caller serves it from the C library.
bool find_next();

/// The object (its file name) that allocates in this process if that is not the C library through us, else nullptr.
const char* other_allocator();

/// Whether the program's calls of malloc come to ours at all.
bool comes_first();

}  // namespace blastoff::allocator
