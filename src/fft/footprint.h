// The elements of an array that a transform reads or writes, as a matrix.
#pragma once

#include <cstdint>
#include <optional>

#include "fft/transform.h"

namespace blastoff::fft {

/// A column-major matrix, in elements. It has one column if nothing lies between its elements.
struct Footprint {
  std::int64_t rows = 0;
  std::int64_t columns = 1;
  std::int64_t leading_dimension = 0;
  bool operator==(const Footprint& other) const = default;

  bool contiguous() const { return columns == 1; }
  /// Elements from the first to the last.
  std::int64_t span() const { return (columns - 1) * leading_dimension + rows; }
};

/// Nothing if the elements do not form a matrix, or if one element stands for two results.
std::optional<Footprint> input_footprint(const Transform& transform);
std::optional<Footprint> output_footprint(const Transform& transform);

/// For a transform in place: the matrix of complex numbers that holds input and output. Nothing if these do not lie in
/// the same places.
std::optional<Footprint> common_footprint(const Transform& transform);

/// Returns a stride after the leading dimension of `matrix` has changed to `leading_dimension`.
inline std::int64_t moved_stride(std::int64_t stride, const Footprint& matrix, std::int64_t leading_dimension) {
  if (matrix.contiguous() || stride < matrix.leading_dimension) return stride;
  return stride / matrix.leading_dimension * leading_dimension;
}

}  // namespace blastoff::fft
