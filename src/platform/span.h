// A half-open range of host addresses, and pages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blastoff::platform {

/// Host bytes [begin, end).
struct Span {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;

  std::size_t bytes() const { return end - begin; }
  bool empty() const { return begin >= end; }
  bool contains(Span other) const { return begin <= other.begin && other.end <= end; }
  bool overlaps(Span other) const { return begin < other.end && other.begin < end; }
  friend bool operator==(Span, Span) = default;
};

/// Bytes of a base page.
std::size_t page_size();

/// The smallest span of whole pages around `span`.
Span outward_to_pages(Span span);

/// The largest span of whole pages within `span`, maybe empty.
Span inward_to_pages(Span span);

}  // namespace blastoff::platform
