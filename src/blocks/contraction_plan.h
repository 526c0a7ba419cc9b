// How a contraction of two tensors becomes a product of two matrices.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "blocks/error.h"
#include "device/permutation.h"

namespace blastoff::blocks {

/// A letter for each index, the first contiguous in memory, and their lengths.
struct TensorShape {
  static constexpr std::size_t max_indices = 8;

  std::string labels;
  std::span<const long long> extents;

  /// At least 1 each.
  std::size_t elements() const;
};

/// A tensor as a matrix.
struct MatrixForm {
  bool permuted = false;              ///< its indices have to take another order first
  bool transposed = false;            ///< it is stored as the transposed matrix
  device::Permutation permutation{};  ///< from the tensor to the matrix; without an element size
};

/// C (m x n) = A (m x k) B (k x n).
struct ContractionPlan {
  std::int64_t m = 1;
  std::int64_t n = 1;
  std::int64_t k = 1;
  MatrixForm a;
  MatrixForm b;
  MatrixForm c;
};

/// The plan that permutes the fewest elements. `reads_c`: C is permuted there and back. The error says what is wrong
/// with the labels.
Result<ContractionPlan> plan_contraction(const TensorShape& a, const TensorShape& b, const TensorShape& c,
                                         bool reads_c);

/// The same permutation from the matrix to the tensor.
device::Permutation inverse(const device::Permutation& permutation);

}  // namespace blastoff::blocks
