// Copies a tensor into another order of its indices.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace blastoff::device {

/// Element (i0, i1, ...) lies i0 source_strides[0] + i1 source_strides[1] + ... elements behind the beginning of the
/// source. It is copied to the place in the destination that the destination strides give in the same way. All strides
/// are positive and no two elements have the same place; there is at least one element.
struct Permutation {
  static constexpr std::size_t max_dimensions = 9;  ///< eight indices, and the two parts of a complex number

  struct Dimension {
    std::int64_t extent = 1;
    std::int64_t source_stride = 1;
    std::int64_t destination_stride = 1;
  };
  std::array<Dimension, max_dimensions> dimensions{};
  std::size_t count = 0;         ///< number of dimensions; 0: one element
  std::size_t element_size = 0;  ///< bytes: 4, 8 or 16

  void add(Dimension dimension) { dimensions[count++] = dimension; }
  std::size_t elements() const;

  /// The same permutation with as few dimensions as possible, in ascending order of their destination strides.
  /// Dimensions of length 1 are left out, and dimensions that follow each other in both tensors are merged. An element
  /// of 16 bytes becomes a pair of 8.
  Permutation simplified() const;
};

/// Permutes on the CPU, in memory that the CPU can reach.
void permute(void* destination, const void* source, const Permutation& permutation);

}  // namespace blastoff::device
