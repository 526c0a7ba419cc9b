// munmap() and other functions that make memory disappear, as the program calls them. They notify libblastoff.so:
// before memory is unmapped or moved, and after pages were dropped. Otherwise they only pass the call on.
//
// The names have the C library's version, but not as this library's default version. So a lookup by dlsym() finds the C
// library's function, which the C library's own free() also uses. MPI libraries look these functions up to patch them
// for their registration caches.
#include <stdarg.h>
#include <sys/mman.h>

#include <cstdint>

#include "allocator/next.h"
#include "allocator/notifications.h"

using namespace blastoff::allocator;

#define BLASTOFF_EXPORT(function, name)                                   \
  __asm__(".symver " #function "," #name "@" BLASTOFF_C_LIBRARY_VERSION); \
  extern "C" [[gnu::visibility("default"), gnu::used]]

BLASTOFF_EXPORT(allocator_mmap, mmap)
void* allocator_mmap(void* address, std::size_t bytes, int protection, int flags, int file, std::int64_t offset) {
  if ((flags & MAP_FIXED) != 0 && (flags & MAP_FIXED_NOREPLACE) != MAP_FIXED_NOREPLACE)
    notify(MemoryEventKind::unmapped, address, bytes);
  return next.mmap.load(std::memory_order_relaxed)(address, bytes, protection, flags, file, offset);
}

BLASTOFF_EXPORT(allocator_mmap64, mmap64)
void* allocator_mmap64(void* address, std::size_t bytes, int protection, int flags, int file, std::int64_t offset) {
  return allocator_mmap(address, bytes, protection, flags, file, offset);
}

BLASTOFF_EXPORT(allocator_munmap, munmap)
int allocator_munmap(void* address, std::size_t bytes) {
  notify(MemoryEventKind::unmapped, address, bytes);
  return next.munmap.load(std::memory_order_relaxed)(address, bytes);
}

BLASTOFF_EXPORT(allocator_mremap, mremap)
void* allocator_mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* const target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  const bool finds_its_place = target == nullptr && new_bytes >= bytes && (flags & MREMAP_MAYMOVE) != 0;
  if (target != nullptr) {
    notify(MemoryEventKind::unmapped, target, new_bytes);
    notify(MemoryEventKind::moved, address, bytes, target);
  } else if (new_bytes < bytes) {
    notify(MemoryEventKind::unmapped, static_cast<char*>(address) + new_bytes, bytes - new_bytes);
  } else if (finds_its_place) {
    notify(MemoryEventKind::unmapped, address, bytes);
  }
  void* const result = next.mremap.load(std::memory_order_relaxed)(address, bytes, new_bytes, flags, target);
  if (finds_its_place && result != address && result != MAP_FAILED)
    notify(MemoryEventKind::unmapped, result, new_bytes);
  return result;
}

BLASTOFF_EXPORT(allocator_madvise, madvise)
int allocator_madvise(void* address, std::size_t bytes, int advice) {
  const int result = next.madvise.load(std::memory_order_relaxed)(address, bytes, advice);
  // Also if the call failed: it may have dropped a part of the range.
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
    notify(MemoryEventKind::dropped, address, bytes);
  return result;
}

BLASTOFF_EXPORT(allocator_sbrk, sbrk)
void* allocator_sbrk(std::intptr_t increment) {
  const auto change = next.sbrk.load(std::memory_order_relaxed);
  if (increment < 0)
    notify(MemoryEventKind::unmapped, static_cast<char*>(change(0)) + increment, static_cast<std::size_t>(-increment));
  return change(increment);
}

BLASTOFF_EXPORT(allocator_brk, brk)
int allocator_brk(void* end) {
  char* const before = static_cast<char*>(next.sbrk.load(std::memory_order_relaxed)(0));
  if (end < before) notify(MemoryEventKind::unmapped, end, static_cast<std::size_t>(before - static_cast<char*>(end)));
  return next.brk.load(std::memory_order_relaxed)(end);
}
