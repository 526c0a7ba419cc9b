#include "allocator/blocks.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "allocator/device_node.h"
#include "allocator/next.h"
#include "allocator/notifications.h"
#include "allocator/placement.h"
#include "platform/errno_guard.h"

namespace blastoff::allocator {

namespace {

// Gets pages from the kernel, by the next functions in the search order, which others (MPI libraries) may intercept.

enum class Access : unsigned char { none, full };

std::size_t page_size() {
  return static_cast<std::size_t>(getpagesize());
}

char* map(std::size_t bytes, Access access) {
  const int protection = access == Access::none ? PROT_NONE : PROT_READ | PROT_WRITE;
  void* const memory =
      next.mmap.load(std::memory_order_relaxed)(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<char*>(memory);
}

/// Frees the pages. Returns false if their memory was freed but their addresses could not be (too many mappings).
bool unmap(void* begin, std::size_t bytes) {
  if (next.munmap.load(std::memory_order_relaxed)(begin, bytes) == 0) return true;
  next.madvise.load(std::memory_order_relaxed)(begin, bytes, MADV_DONTNEED);
  return false;
}

/// Returns the bytes from `from` to the next multiple of `alignment`.
std::size_t gap(const char* from, std::size_t alignment) {
  return -reinterpret_cast<std::uintptr_t>(from) % alignment;
}

bool cut_off(char* begin, char* end) {
  return begin == end || unmap(begin, static_cast<std::size_t>(end - begin));
}

/// Rounds up to whole pages; 0 on overflow.
std::size_t whole_pages(std::size_t bytes) {
  if (bytes > PTRDIFF_MAX) return 0;
  return (bytes + page_size() - 1) / page_size() * page_size();
}

/// Maps fresh private pages at a multiple of `alignment`; nullptr if there are none. Newer kernels (Linux 6.7) align
/// large mappings to huge pages by themselves. On other kernels this maps more than is needed, and cuts off the ends.
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

/// Resizes a block from `size` to `bytes` bytes: in place if `target` is nullptr, otherwise at `target`, whose pages
/// are replaced.
bool remap(void* begin, std::size_t size, std::size_t bytes, void* target) {
  const int flags = target == nullptr ? 0 : MREMAP_MAYMOVE | MREMAP_FIXED;
  return next.mremap.load(std::memory_order_relaxed)(begin, size, bytes, flags, target) != MAP_FAILED;
}

void advise_huge_pages(void* begin, std::size_t bytes) {
  next.madvise.load(std::memory_order_relaxed)(begin, bytes, MADV_HUGEPAGE);
}

constinit BlockTable table;

struct Counter {
  std::atomic<unsigned long long> blocks{0};
  std::atomic<unsigned long long> bytes{0};

  void add(std::size_t size) {
    blocks.fetch_add(1, std::memory_order_relaxed);
    bytes.fetch_add(size, std::memory_order_relaxed);
  }
};

constinit Counter placed;
constinit Counter bound;
constinit Counter left;

/// Huge pages have 2 MiB on x86-64. aarch64 has them too, besides smaller and larger ones.
std::size_t natural_alignment(std::size_t bytes) {
  constexpr std::size_t huge_page = std::size_t{2} << 20;
  return bytes >= huge_page ? huge_page : granule;
}

/// To be called before the pages are touched: pages that exist already stay where they are.
void prepare(void* begin, std::size_t bytes, const Placement& placement) {
  if (placement.huge_pages) advise_huge_pages(begin, bytes);
  if (placement.node < 0) return;
  if (bind(begin, bytes, placement.node))
    bound.add(bytes);
  else
    give_up_binding(errno);
}

bool grow_in_place(void* block, std::size_t size, std::size_t bytes) {
  return remap(block, size, bytes, nullptr) && table.insert(block, bytes);
}

/// Moves the pages without copying, so they keep their node. Returns nullptr if nothing was changed.
void* grow_elsewhere(void* block, std::size_t size, std::size_t bytes) {
  void* const target = map_aligned(bytes, natural_alignment(bytes), Access::none);
  if (target == nullptr) return nullptr;
  if (table.insert(target, bytes)) {
    table.remove(block);  // removed first, because another thread may get these addresses as soon as the pages have
                          // left
    notify(MemoryEventKind::moved, block, size, target);
    if (remap(block, size, bytes, target)) return target;
    table.insert(block, size);
    table.remove(target);
  }
  notify(MemoryEventKind::unmapped, target, bytes);
  unmap(target, bytes);
  return nullptr;
}

void* move_to_new_block(void* block, std::size_t size, std::size_t bytes) {
  void* copy = place(bytes);
  if (copy == nullptr) copy = next.malloc.load(std::memory_order_relaxed)(bytes);
  if (copy == nullptr) return nullptr;
  memcpy(copy, block, std::min(size, bytes));
  release_placed(block);
  return copy;
}

void* grow(void* block, std::size_t size, std::size_t bytes) {
  const std::size_t whole = whole_pages(bytes);
  void* grown = grow_in_place(block, size, whole) ? block : grow_elsewhere(block, size, whole);
  if (grown == nullptr) return move_to_new_block(block, size, bytes);
  const Placement placement = placement_for(bytes);
  if (placement.node >= 0 && placement_for(size).node < 0) prepare(grown, whole, placement);
  return grown;
}

void* shrink(void* block, std::size_t size, std::size_t bytes) {
  if (bytes < granule) {
    void* const smaller = move_to_new_block(block, size, bytes);
    return smaller == nullptr ? block : smaller;
  }
  const std::size_t whole = whole_pages(bytes);
  char* const tail = static_cast<char*>(block) + whole;
  if (size == whole) return block;
  notify(MemoryEventKind::unmapped, tail, size - whole);
  if (unmap(tail, size - whole)) table.insert(block, whole);
  return block;
}

}  // namespace

void* place(std::size_t bytes, std::size_t alignment) {
  const platform::ErrnoGuard errno_stays;
  const Placement placement = placement_for(bytes);
  if (!placement.place) return nullptr;
  const std::size_t whole = whole_pages(bytes);
  void* const block =
      whole == 0 ? nullptr : map_aligned(whole, std::max(alignment, natural_alignment(whole)), Access::full);
  if (block != nullptr && table.insert(block, whole)) {
    prepare(block, whole, placement);
    placed.add(whole);
    return block;
  }
  if (block != nullptr) unmap(block, whole);
  left.add(bytes);
  return nullptr;
}

std::size_t placed_size(const void* pointer) {
  return may_be_block(pointer) ? table.find(pointer) : 0;
}

bool release_placed(void* pointer) {
  const std::size_t bytes = table.remove(pointer);
  if (bytes == 0) return false;
  const platform::ErrnoGuard errno_stays;
  notify(MemoryEventKind::unmapped, pointer, bytes);
  unmap(pointer, bytes);
  return true;
}

void* resize_placed(void* block, std::size_t size, std::size_t bytes) {
  if (bytes == 0) {
    release_placed(block);
    return nullptr;
  }
  void* resized = nullptr;
  {
    const platform::ErrnoGuard errno_stays;
    resized = bytes <= size ? shrink(block, size, bytes) : grow(block, size, bytes);
  }
  if (resized == nullptr) errno = ENOMEM;
  return resized;
}

void read_counts(blastoff_placement& counts) {
  counts.placed_blocks = placed.blocks.load(std::memory_order_relaxed);
  counts.placed_bytes = placed.bytes.load(std::memory_order_relaxed);
  counts.bound_blocks = bound.blocks.load(std::memory_order_relaxed);
  counts.bound_bytes = bound.bytes.load(std::memory_order_relaxed);
  counts.left_blocks = left.blocks.load(std::memory_order_relaxed);
  counts.left_bytes = left.bytes.load(std::memory_order_relaxed);
}

}  // namespace blastoff::allocator
