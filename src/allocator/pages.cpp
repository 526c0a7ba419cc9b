#include "allocator/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "allocator/next.h"

namespace blastoff::allocator {

namespace {

std::size_t page_size() {
  return static_cast<std::size_t>(getpagesize());
}

char* map(std::size_t bytes, Access access) {
  const int protection = access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* const memory =
      next.mmap.load(std::memory_order_relaxed)(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

/// Returns the bytes from `from` to the next multiple of `alignment`.
std::size_t gap(const char* from, std::size_t alignment) {
  return -reinterpret_cast<std::uintptr_t>(from) % alignment;
}

bool cut_off(char* begin, char* end) {
  return begin == end || unmap(begin, static_cast<std::size_t>(end - begin));
}

}  // namespace

std::size_t whole_pages(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return 0;
  return (bytes + page_size() - 1) / page_size() * page_size();
}

/// Newer kernels (Linux 6.7) align large mappings to huge pages by themselves. On other kernels this maps more than is
/// needed, and cuts off the ends.
void* map_aligned(std::size_t bytes, std::size_t alignment, Access access) {
  char* const first = map(bytes, access);
  if (first == nullptr || gap(first, alignment) == 0) return first;
  unmap(first, bytes);
  std::size_t room = 0;
  if (__builtin_add_overflow(bytes, alignment - page_size(), &room)) return nullptr;
  char* const begin = map(room, access);
  if (begin == nullptr) return nullptr;
  char* const block = begin + gap(begin, alignment);
  char* const end = begin + room;
  if (!cut_off(begin, block)) {
    unmap(begin, room);
    return nullptr;
  }
  if (cut_off(block + bytes, end)) return block;
  unmap(block, static_cast<std::size_t>(end - block));
  return nullptr;
}

bool unmap(void* begin, std::size_t bytes) {
  if (next.munmap.load(std::memory_order_relaxed)(begin, bytes) == 0) return true;
  next.madvise.load(std::memory_order_relaxed)(begin, bytes, MADV_DONTNEED);
  return false;
}

bool remap(void* begin, std::size_t size, std::size_t bytes, void* target) {
  const int flags = target == nullptr ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;
  return next.mremap.load(std::memory_order_relaxed)(begin, size, bytes, flags, target) != MAP_FAILED;
}

void advise_huge_pages(void* begin, std::size_t bytes) {
  next.madvise.load(std::memory_order_relaxed)(begin, bytes, MADV_HUGEPAGE);
}

}  // namespace blastoff::allocator
