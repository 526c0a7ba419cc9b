// Which elements of its arrays a transform reads and writes, as a matrix.
#pragma once

#include <cstdint>
#include <optional>

#include "fft/transform.h"

namespace blastoff::fft {

/// A column-major matrix, in elements. Where nothing lies between its elements it has one column.
struct Footprint {
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t leading_dimension = 0;
  bool operator==(const Footprint& other) const = default;

  bool contiguous() const { return columns == 1; }
  /// Elements from the first to the last.
  std::int64_t span() const { return (columns - 1) * leading_dimension + rows; }
};

/// Nothing where the elements are no matrix, or one stands for two results.
std::optional<Footprint> input_footprint(const Transform& transform);
std::optional<Footprint> output_footprint(const Transform& transform);

/// Of a transform in place: the matrix of complex numbers that holds both sides. Nothing where these lie differently.
std::optional<Footprint> common_footprint(const Transform& transform);

/// The stride of the elements in a matrix whose leading dimension has become another one.
inline std::int64_t moved_stride(std::int64_t stride, const Footprint& matrix, std::int64_t leading_dimension) {
  if (matrix.contiguous() || stride < matrix.leading_dimension) return stride;
  return stride / matrix.leading_dimension * leading_dimension;
}

}  // namespace blastoff::fft
