// A tensor whose indices take another order.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace blastoff::device {

/// Element (i0, i1, ...) of the source, which lies i0 source_strides[0] + i1 source_strides[1] + ... elements behind
/// its beginning, is copied to the same sum of destination strides behind that of the destination. All strides are
/// positive and no two elements have the same place; there is at least one element.
struct Permutation {
  static constexpr std::size_t most_dimensions = 9;  ///< eight indices, and the two parts of a complex number

  struct Dimension {
    std::int64_t extent = 1;
    std::int64_t source_stride = 1;
    std::int64_t destination_stride = 1;
  };
  std::array<Dimension, most_dimensions> dimensions{};
  std::size_t count = 0;         ///< of dimensions; 0: one element
  std::size_t element_size = 0;  ///< bytes: 4, 8 or 16

  void add(Dimension dimension) { dimensions[count++] = dimension; }
  std::size_t elements() const;

  /// The same with as few dimensions as possible, ascending by the stride of the destination: those of length 1 are
  /// left out, and those that follow each other in both tensors are one. Elements of 16 bytes are pairs of 8.
  Permutation simplified() const;
};

/// By the CPU, in memory that it can reach.
void permute(void* destination, const void* source, const Permutation& permutation);

}  // namespace blastoff::device
