#include "allocator/early.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/next.h"
#include "allocator/notifications.h"
#include "allocator/placement.h"

namespace blastoff::allocator::early {
namespace {

/// Initialises this library at the first call of any of its functions: finds the next allocator's functions, and
/// decides whether frees of its blocks notify libblastoff.so. Returns false in a call that this function itself causes;
/// the caller then uses the C library.
bool initialize() {
  if (!find_next()) return false;
  notify_of_released_blocks();
  return true;
}

/// Calls usually arrive earlier: from the dynamic linker, and from constructors of libraries on which this one does not
/// depend.
[[gnu::constructor]] void when_loaded() {
  initialize();
  prepare_placement();
}

}  // namespace

void* malloc(std::size_t bytes) {
  return initialize() ? next.malloc.load()(bytes) : __libc_malloc(bytes);
}

void free(void* pointer) {
  initialize() ? release.free.load()(pointer) : __libc_free(pointer);
}

void* calloc(std::size_t count, std::size_t bytes) {
  return initialize() ? next.calloc.load()(count, bytes) : __libc_calloc(count, bytes);
}

void* realloc(void* pointer, std::size_t bytes) {
  return initialize() ? release.realloc.load()(pointer, bytes) : __libc_realloc(pointer, bytes);
}

void* memalign(std::size_t alignment, std::size_t bytes) {
  return initialize() ? next.memalign.load()(alignment, bytes) : __libc_memalign(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  return initialize() ? next.aligned_alloc.load()(alignment, bytes) : __libc_memalign(alignment, bytes);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  if (initialize()) return next.posix_memalign.load()(result, alignment, bytes);
  void* const block = __libc_memalign(alignment, bytes);
  if (block != nullptr) *result = block;
  return block == nullptr ? ENOMEM : 0;
}

void* valloc(std::size_t bytes) {
  return memalign(static_cast<std::size_t>(getpagesize()), bytes);
}

void* pvalloc(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(getpagesize());
  return memalign(page, (bytes + page - 1) / page * page);
}

std::size_t usable_size(void* pointer) {
  return initialize() ? next.usable_size.load()(pointer) : 0;
}

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, std::int64_t offset) {
  if (initialize()) return next.mmap.load()(address, bytes, protection, flags, file, offset);
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}

int munmap(void* address, std::size_t bytes) {
  if (initialize()) return next.munmap.load()(address, bytes);
  return static_cast<int>(syscall(SYS_munmap, address, bytes));
}

void* mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  void* const target = (flags & MREMAP_FIXED) != 0 ? va_arg(arguments, void*) : nullptr;
  va_end(arguments);
  if (initialize()) return next.mremap.load()(address, bytes, new_bytes, flags, target);
  return reinterpret_cast<void*>(syscall(SYS_mremap, address, bytes, new_bytes, flags, target));
}

int madvise(void* address, std::size_t bytes, int advice) {
  if (initialize()) return next.madvise.load()(address, bytes, advice);
  return static_cast<int>(syscall(SYS_madvise, address, bytes, advice));
}

int brk(void* end) {
  if (initialize()) return next.brk.load()(end);
  errno = ENOMEM;
  return -1;
}

void* sbrk(std::intptr_t increment) {
  if (initialize()) return next.sbrk.load()(increment);
  errno = ENOMEM;
  return reinterpret_cast<void*>(-1);
}

}  // namespace blastoff::allocator::early
