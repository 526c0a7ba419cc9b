#include "blocks/product.h"

#include <algorithm>
#include <complex>
#include <vector>

#include "blas/front_end.h"

namespace blastoff::blocks {

namespace {

using blas::Transpose;

// Rows of C and depth that stay in a core's cache while the columns of C pass.
constexpr std::int64_t rows_at_once = 256;
constexpr std::int64_t depth_at_once = 128;

template <class T>
struct Matrix {
  const T* elements;
  std::int64_t row_step;
  std::int64_t column_step;
  T at(std::int64_t row, std::int64_t column) const { return elements[row * row_step + column * column_step]; }
};

template <class T>
Matrix<T> matrix(const operation::Operand& operand, Transpose transpose) {
  const auto* const elements = static_cast<const T*>(operand.address);
  const std::int64_t next = operand.leading_dimension;
  return transpose == Transpose::none ? Matrix<T>{elements, 1, next} : Matrix<T>{elements, next, 1};
}

template <class T>
T coefficient(const blas::Coefficient& value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value.real());
  else
    return static_cast<T>(value);
}

template <class T>
void scale(T* column, std::int64_t rows, T beta) {
  // C may hold anything where beta is 0.
  if (beta == T(0)) std::fill_n(column, rows, T(0));
  if (beta == T(0) || beta == T(1)) return;
  for (std::int64_t row = 0; row < rows; ++row) column[row] *= beta;
}

/// c += a * b, element by element. Complex numbers: right for products that have no infinite parts.
template <class T>
void add_scaled(T* c, const T* a, T b, std::int64_t count) {
  if constexpr (std::is_floating_point_v<T>) {
    for (std::int64_t i = 0; i < count; ++i) c[i] += a[i] * b;
  } else {
    for (std::int64_t i = 0; i < count; ++i)
      c[i] += T(a[i].real() * b.real() - a[i].imag() * b.imag(), a[i].real() * b.imag() + a[i].imag() * b.real());
  }
}

template <class T>
void multiply(const blas::Call& call) {
  const Matrix<T> a = matrix<T>(call.operand_storage[0], call.transpose_a);
  const Matrix<T> b = matrix<T>(call.operand_storage[1], call.transpose_b);
  const operation::Operand& result = call.result();
  auto* const c = static_cast<T*>(result.address);
  const T alpha = coefficient<T>(call.alpha);
  for (std::int64_t column = 0; column < call.n; ++column)
    scale(c + column * result.leading_dimension, call.m, coefficient<T>(call.beta));
  if (alpha == T(0)) return;
  std::vector<T> packed(static_cast<std::size_t>(std::min(call.m, rows_at_once) * std::min(call.k, depth_at_once)));
  for (std::int64_t first_row = 0; first_row < call.m; first_row += rows_at_once) {
    const std::int64_t rows = std::min(rows_at_once, call.m - first_row);
    for (std::int64_t first = 0; first < call.k; first += depth_at_once) {
      const std::int64_t depth = std::min(depth_at_once, call.k - first);
      for (std::int64_t l = 0; l < depth; ++l)
        for (std::int64_t row = 0; row < rows; ++row)
          packed[static_cast<std::size_t>(l * rows + row)] = alpha * a.at(first_row + row, first + l);
      for (std::int64_t column = 0; column < call.n; ++column) {
        T* const to = c + column * result.leading_dimension + first_row;
        for (std::int64_t l = 0; l < depth; ++l)
          add_scaled(to, packed.data() + l * rows, b.at(first + l, column), rows);
      }
    }
  }
}

}  // namespace

bool Product::can_compute(const operation::Operation& operation) const {
  if (!blas::is_blas(operation)) return false;
  const blas::Call call = blas::call_of(operation);
  return call.kind() == blas::Kind::gemm && call.transpose_a != Transpose::conjugate &&
         call.transpose_b != Transpose::conjugate;
}

bool Product::compute(const operation::Operation& operation) const {
  const blas::Call call = blas::call_of(operation);
  switch (call.scalar()) {
    case blas::Scalar::s: multiply<float>(call); break;
    case blas::Scalar::d: multiply<double>(call); break;
    case blas::Scalar::c: multiply<std::complex<float>>(call); break;
    case blas::Scalar::z: multiply<std::complex<double>>(call); break;
  }
  return true;
}

}  // namespace blastoff::blocks
