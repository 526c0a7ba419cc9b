// Serves calls that arrive before the next allocator's functions are known. Each call first looks them up and then
// continues there.
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {
// glibc's allocator, under names that it has even if another library defines malloc. Other C libraries allocate nothing
// during the search.
// NOLINTBEGIN(bugprone-reserved-identifier)
#pragma weak __libc_malloc
#pragma weak __libc_free
#pragma weak __libc_calloc
#pragma weak __libc_realloc
#pragma weak __libc_memalign
void* __libc_malloc(std::size_t bytes) noexcept;
void __libc_free(void* pointer) noexcept;
void* __libc_calloc(std::size_t count, std::size_t bytes) noexcept;
void* __libc_realloc(void* pointer, std::size_t bytes) noexcept;
void* __libc_memalign(std::size_t alignment, std::size_t bytes) noexcept;
// NOLINTEND(bugprone-reserved-identifier)
}

namespace blastoff::allocator::early {

void* malloc(std::size_t bytes);
void free(void* pointer);
void* calloc(std::size_t count, std::size_t bytes);
void* realloc(void* pointer, std::size_t bytes);
void* memalign(std::size_t alignment, std::size_t bytes);
void* aligned_alloc(std::size_t alignment, std::size_t bytes);
int posix_memalign(void** result, std::size_t alignment, std::size_t bytes);
void* valloc(std::size_t bytes);
void* pvalloc(std::size_t bytes);
std::size_t usable_size(void* pointer);

void* mmap(void* address, std::size_t bytes, int protection, int flags, int file, std::int64_t offset);
int munmap(void* address, std::size_t bytes);
void* mremap(void* address, std::size_t bytes, std::size_t new_bytes, int flags, ...);
int madvise(void* address, std::size_t bytes, int advice);
int brk(void* end);
void* sbrk(std::intptr_t increment);

}  // namespace blastoff::allocator::early
