#include "platform/split_mappings.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "platform/mappings.h"
#include "platform/span.h"

namespace blastoff::platform {
namespace {

void* pointer(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);
}

void* fail(int error) {
  errno = error;
  return MAP_FAILED;
}

/// The span, divided into its mappings; empty if these differ in more than whether they are tracked.
std::vector<Span> pieces_of(Span span) {
  std::vector<Span> pieces;
  Mappings mappings;
  std::optional<KernelMapping> first;
  for (std::uintptr_t at = span.begin; at < span.end; at = pieces.back().end) {
    const auto mapping = mappings.covering(at);
    if (!mapping || mapping->kind != MemoryKind::anonymous) return {};
    if (!first) first = mapping;
    if (mapping->executable != first->executable) return {};
    pieces.push_back({at, std::min(mapping->span.end, span.end)});
  }
  return pieces;
}

/// Moves the pieces to the target and grows the last one. On failure, pieces that were moved go back. `leave`: 0, or
/// MREMAP_DONTUNMAP.
void* move(Mremap* mremap, const std::vector<Span>& pieces, std::size_t growth, std::uintptr_t target, int leave) {
  constexpr int to_target = MREMAP_MAYMOVE | MREMAP_FIXED;
  const std::uintptr_t begin = pieces.front().begin;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const Span piece = pieces[i];
    const std::size_t grown = piece.bytes() + (i + 1 == pieces.size() ? growth : 0);
    const auto place = [&](Span moved) { return pointer(target + (moved.begin - begin)); };
    if (mremap(pointer(piece.begin), piece.bytes(), grown, to_target | leave, place(piece)) != MAP_FAILED) continue;
    const int error = errno;
    for (; i > 0; --i) {
      const Span moved = pieces[i - 1];
      mremap(place(moved), moved.bytes(), moved.bytes(), to_target, pointer(moved.begin));
    }
    return fail(error);
  }
  return pointer(target);
}

}  // namespace

void* remap_pieces(Mremap* mremap, void* address, std::size_t bytes, std::size_t new_bytes, int flags, void* target) {
  constexpr int known = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const bool fixed = (flags & MREMAP_FIXED) != 0;
  const Span from = outward_to_pages({begin, begin + std::min(bytes, new_bytes)});
  const std::vector<Span> pieces = (flags & ~known) == 0 ? pieces_of(from) : std::vector<Span>{};
  if (pieces.size() < 2) return fail(EFAULT);
  const Span last = pieces.back();
  const std::size_t growth = outward_to_pages({begin, begin + new_bytes}).bytes() - from.bytes();
  const int leave = flags & MREMAP_DONTUNMAP;
  if (!fixed && leave == 0 &&
      mremap(pointer(last.begin), last.bytes(), last.bytes() + growth, 0, nullptr) != MAP_FAILED)
    return address;
  if (!fixed && (flags & MREMAP_MAYMOVE) == 0) return MAP_FAILED;
  if (fixed) return move(mremap, pieces, growth, reinterpret_cast<std::uintptr_t>(target), leave);
  const std::size_t whole = from.bytes() + growth;
  void* const free_place = mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (free_place == MAP_FAILED) return MAP_FAILED;
  void* const moved = move(mremap, pieces, growth, reinterpret_cast<std::uintptr_t>(free_place), leave);
  if (moved != MAP_FAILED) return moved;
  const int error = errno;
  munmap(free_place, whole);
  return fail(error);
}

}  // namespace blastoff::platform
