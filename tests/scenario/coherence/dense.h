// A small matrix of complex numbers, for checks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "matrix.h"

namespace coherence {

using blas::Coefficient;

class Dense {
 public:
  Dense(std::int64_t rows, std::int64_t columns)
      : rows_(rows), columns_(columns), elements_(static_cast<std::size_t>(rows * columns)) {}

  /// The expected elements of a part of a matrix (of_shadow), and its actual elements (of_memory).
  static Dense of_shadow(const Matrix& matrix, const Box& box) {
    return read(box, matrix, [&](std::int64_t i, std::int64_t j) { return matrix.shadow_element(i, j); });
  }
  static Dense of_memory(const Matrix& matrix, const Box& box) {
    return read(box, matrix, [&](std::int64_t i, std::int64_t j) { return matrix.element(i, j); });
  }

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  Coefficient& operator()(std::int64_t i, std::int64_t j) { return elements_[static_cast<std::size_t>(i + j * rows_)]; }
  const Coefficient& operator()(std::int64_t i, std::int64_t j) const {
    return elements_[static_cast<std::size_t>(i + j * rows_)];
  }

  double largest() const {
    double result = 0;
    for (const Coefficient& element : elements_) result = std::max(result, std::abs(element));
    return result;
  }

  void swap_rows(std::int64_t one, std::int64_t other) {
    for (std::int64_t j = 0; j < columns_; ++j) std::swap((*this)(one, j), (*this)(other, j));
  }

  /// Keeps only the leading rows and columns.
  void cut(std::int64_t rows, std::int64_t columns) {
    Dense smaller(rows, columns);
    for (std::int64_t j = 0; j < columns; ++j)
      for (std::int64_t i = 0; i < rows; ++i) smaller(i, j) = (*this)(i, j);
    *this = smaller;
  }

 private:
  template <class Element>
  static Dense read(const Box& box, const Matrix& matrix, const Element& element) {
    Dense result(box.rows, box.columns);
    for (std::int64_t j = 0; j < box.columns; ++j)
      for (std::int64_t i = 0; i < box.rows; ++i)
        result(i, j) = value_at(element(box.row + i, box.column + j), matrix.scalar());
    return result;
  }

  std::int64_t rows_;
  std::int64_t columns_;
  std::vector<Coefficient> elements_;
};

inline Dense transpose(const Dense& a) {
  Dense result(a.columns(), a.rows());
  for (std::int64_t j = 0; j < a.columns(); ++j)
    for (std::int64_t i = 0; i < a.rows(); ++i) result(j, i) = a(i, j);
  return result;
}

inline Dense adjoint(const Dense& a) {
  Dense result = transpose(a);
  for (std::int64_t j = 0; j < result.columns(); ++j)
    for (std::int64_t i = 0; i < result.rows(); ++i) result(i, j) = std::conj(result(i, j));
  return result;
}

inline Dense product(const Dense& a, const Dense& b) {
  Dense result(a.rows(), b.columns());
  for (std::int64_t j = 0; j < b.columns(); ++j)
    for (std::int64_t k = 0; k < a.columns(); ++k)
      for (std::int64_t i = 0; i < a.rows(); ++i) result(i, j) += a(i, k) * b(k, j);
  return result;
}

}  // namespace coherence
