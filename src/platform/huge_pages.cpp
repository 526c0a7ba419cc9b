#include "platform/huge_pages.h"

#include <sys/mman.h>

#include <cstdint>

#include "platform/kernel_interface.h"

namespace blastoff::platform {

// Maps more than is asked for, so that an aligned address lies in it.
void* map_huge_pages(std::size_t bytes) {
  void* const mapped =
      mmap(nullptr, bytes + huge_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(mapped) % huge_page) % huge_page;
  std::byte* const begin = static_cast<std::byte*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(begin + bytes, huge_page - before);
  madvise(begin, bytes, MADV_HUGEPAGE);
  madvise(begin, bytes, MADV_DONTFORK);
  madvise(begin, bytes, kernel::populate_write);  // if this fails, pages come when they are first used
  return begin;
}

void* map_for_huge_pages(std::size_t bytes) {
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  madvise(mapped, bytes, MADV_HUGEPAGE);
  return mapped;
}

void unmap_huge_pages(void* address, std::size_t bytes) {
  munmap(address, bytes);
}

}  // namespace blastoff::platform
