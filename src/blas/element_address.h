// Addresses of the elements of an operand.
#pragma once

#include <cstdint>

#include "blas/call.h"

namespace blastoff::blas {

/// The element in row `i` and column `j`.
inline void* element_address(const Operand& operand, std::int64_t i, std::int64_t j) {
  return static_cast<char*>(operand.address) +
         (i + j * operand.leading_dimension) * static_cast<std::int64_t>(operand.element_size);
}

/// The element in row `i` and column `j` of op(X).
inline void* element_address(const Operand& operand, Transpose transpose, std::int64_t i, std::int64_t j) {
  return transpose == Transpose::none ? element_address(operand, i, j) : element_address(operand, j, i);
}

/// Indices [begin, end) of rows or columns.
struct Range {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t size() const { return end - begin; }
};

}  // namespace blastoff::blas
