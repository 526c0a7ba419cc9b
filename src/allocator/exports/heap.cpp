// malloc and its family, as the program calls them. For small allocations and for blocks of other allocators, they cost
// one test more than without this library.
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <bit>

#include "allocator/blocks.h"
#include "allocator/next.h"
#include "allocator/placement.h"

namespace {

using namespace blastoff::allocator;

[[gnu::always_inline]] inline bool is_large(std::size_t bytes) {
  return __builtin_expect(bytes >= large_from.load(std::memory_order_relaxed), 0);
}

template <class Function>
[[gnu::always_inline]] inline Function* real(const Slot<Function>& slot) {
  return slot.load(std::memory_order_relaxed);
}

/// Moves a block of another allocator that grows to a size at which blocks are placed.
void* move_into_place(void* block, std::size_t bytes) {
  void* const target = place(bytes);
  if (target == nullptr) return nullptr;
  memcpy(target, block, std::min(bytes, real(next.usable_size)(block)));
  real(release.free)(block);
  return target;
}

/// Returns nullptr for odd alignments: the next allocator refuses or corrects them.
void* place_aligned(std::size_t alignment, std::size_t bytes) {
  constexpr std::size_t max_alignment = std::size_t{1} << 40;
  return std::has_single_bit(alignment) && alignment <= max_alignment ? place(bytes, alignment) : nullptr;
}

}  // namespace

#pragma GCC visibility push(default)

extern "C" {

void* malloc(std::size_t bytes) noexcept {
  if (is_large(bytes))
    if (void* const block = place(bytes)) return block;
  return real(next.malloc)(bytes);
}

void free(void* pointer) noexcept {
  if (__builtin_expect(may_be_block(pointer), 0) && release_placed(pointer)) return;
  real(release.free)(pointer);
}

void cfree(void* pointer) noexcept {
  free(pointer);
}

void* calloc(std::size_t count, std::size_t bytes) noexcept {
  std::size_t total = 0;
  if (!__builtin_mul_overflow(count, bytes, &total) && is_large(total))
    if (void* const block = place(total)) return block;
  return real(next.calloc)(count, bytes);
}

void* realloc(void* pointer, std::size_t bytes) noexcept {
  if (pointer == nullptr) return malloc(bytes);
  if (const std::size_t size = placed_size(pointer)) return resize_placed(pointer, size, bytes);
  if (is_large(bytes))
    if (void* const block = move_into_place(pointer, bytes)) return block;
  return real(release.realloc)(pointer, bytes);
}

void* reallocarray(void* pointer, std::size_t count, std::size_t bytes) noexcept {
  std::size_t total = 0;
  if (!__builtin_mul_overflow(count, bytes, &total)) return realloc(pointer, total);
  errno = ENOMEM;
  return nullptr;
}

void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
  if (is_large(bytes))
    if (void* const block = place_aligned(alignment, bytes)) return block;
  return real(next.memalign)(alignment, bytes);
}

void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
  if (is_large(bytes))
    if (void* const block = place_aligned(alignment, bytes)) return block;
  return real(next.aligned_alloc)(alignment, bytes);
}

int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) noexcept {
  if (is_large(bytes) && alignment >= sizeof(void*))
    if (void* const block = place_aligned(alignment, bytes)) {
      *result = block;
      return 0;
    }
  return real(next.posix_memalign)(result, alignment, bytes);
}

void* valloc(std::size_t bytes) noexcept {
  if (is_large(bytes))
    if (void* const block = place(bytes)) return block;
  return real(next.valloc)(bytes);
}

void* pvalloc(std::size_t bytes) noexcept {
  if (is_large(bytes))
    if (void* const block = place(bytes)) return block;
  return real(next.pvalloc)(bytes);
}

std::size_t malloc_usable_size(void* pointer) noexcept {
  const std::size_t size = placed_size(pointer);
  return size != 0 ? size : real(next.usable_size)(pointer);
}
}

#pragma GCC visibility pop
