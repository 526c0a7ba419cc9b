#include "device/permutation.h"

#include <algorithm>
#include <cstring>

namespace blastoff::device {

std::size_t Permutation::elements() const {
  std::size_t product = 1;
  for (std::size_t i = 0; i < count; ++i) product *= static_cast<std::size_t>(dimensions[i].extent);
  return product;
}

Permutation Permutation::simplified() const {
  Permutation all;
  all.element_size = std::min<std::size_t>(element_size, 8);
  const auto words = static_cast<std::int64_t>(element_size / all.element_size);
  if (words > 1) all.add({words, 1, 1});
  for (std::size_t i = 0; i < count; ++i) {
    const Dimension& each = dimensions[i];
    if (each.extent > 1) all.add({each.extent, each.source_stride * words, each.destination_stride * words});
  }
  std::sort(all.dimensions.begin(), all.dimensions.begin() + static_cast<std::ptrdiff_t>(all.count),
            [](const Dimension& a, const Dimension& b) { return a.destination_stride < b.destination_stride; });
  Permutation merged;
  merged.element_size = all.element_size;
  for (std::size_t i = 0; i < all.count; ++i) {
    const Dimension& next = all.dimensions[i];
    if (merged.count > 0) {
      Dimension& last = merged.dimensions[merged.count - 1];
      if (next.source_stride == last.source_stride * last.extent &&
          next.destination_stride == last.destination_stride * last.extent) {
        last.extent *= next.extent;
        continue;
      }
    }
    merged.add(next);
  }
  return merged;
}

namespace {

/// Recursion from the outermost dimension inwards.
template <std::size_t size>
void copy(std::byte* to, const std::byte* from, const Permutation& permutation, std::size_t dimensions) {
  if (dimensions == 0) {
    std::memcpy(to, from, size);
    return;
  }
  const Permutation::Dimension& dimension = permutation.dimensions[dimensions - 1];
  if (dimensions == 1 && dimension.source_stride == 1 && dimension.destination_stride == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(dimension.extent) * size);
    return;
  }
  const std::ptrdiff_t to_step = dimension.destination_stride * static_cast<std::ptrdiff_t>(size);
  const std::ptrdiff_t from_step = dimension.source_stride * static_cast<std::ptrdiff_t>(size);
  for (std::int64_t i = 0; i < dimension.extent; ++i)
    copy<size>(to + i * to_step, from + i * from_step, permutation, dimensions - 1);
}

}  // namespace

void permute(void* destination, const void* source, const Permutation& permutation) {
  const Permutation simple = permutation.simplified();
  auto* const to = static_cast<std::byte*>(destination);
  const auto* const from = static_cast<const std::byte*>(source);
  simple.element_size == 8 ? copy<8>(to, from, simple, simple.count) : copy<4>(to, from, simple, simple.count);
}

}  // namespace blastoff::device
