// The functions that calls are passed on to: those of the C library, or of another allocator that comes next in the
// search order.
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace blastoff::allocator {

/// The address of a function that is looked up once. Threads that look it up at the same time find the same function.
template <class Function>
using Slot = std::atomic<Function*>;

/// Each function is looked up by dlsym(RTLD_NEXT): the program would be bound to it without this library.
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

/// The functions to which free() and realloc() pass other allocators' blocks: the functions of `next`, or functions
/// that also notify libblastoff.so (notifications.h).
struct Release {
  Slot<void(void*)> free;
  Slot<void*(void*, std::size_t)> realloc;
};

extern Release release;

/// Fills in `next`. Called at the first call of any function of this library, which may come before any constructor.
/// Returns false in a call that the search itself makes; the caller then uses the C library.
bool find_next();

/// Whether the process has glibc. If not, this library was preloaded into a process for which it is not made, and only
/// passes calls on.
bool behind_is_glibc();

/// Returns the file name of the object that allocates memory in this process, if it is not the C library behind this
/// library; otherwise nullptr.
const char* other_allocator();

/// Whether the program's calls of malloc reach this library at all.
bool comes_first();

}  // namespace blastoff::allocator
