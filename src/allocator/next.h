// The functions behind ours: the C library's, or those of another allocator that comes next in the search order.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

/// A function that is looked up once. Threads that look it up at the same time find the same function.
template <class Function>
using Slot = std::atomic<Function*>;

/// Each is looked up with dlsym(RTLD_NEXT): the function to which the program would be bound without this library.
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

/// Where free() and realloc() of other allocators' blocks go: to `next`'s functions, or to those that also notify
/// libblastoff (notifications.h).
struct Release {
  Slot<void(void*)> free;
  Slot<void*(void*, std::size_t)> realloc;
};

extern Release release;

/// Fills in `next`. Called at the first call of any function of this library, which may come before any constructor.
/// False in a call that the search itself makes; the caller then uses the C library.
bool find_next();

/// False: a preloaded library of this kind is in a process for which it is not made, and only passes calls on.
bool behind_is_glibc();

/// The object (its file name) that allocates memory in this process, if it is not the C library behind this library;
/// else nullptr.
const char* other_allocator();

/// Whether the program's calls of malloc reach this library at all.
bool comes_first();

}  // namespace blastoff::allocator
