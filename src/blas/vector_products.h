// Products of matrices with a vector, by which results are checked.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blas/types.h"
#include "operation/operand.h"
#include "platform/worker_pool.h"

namespace blastoff::blas::check {

using Number = std::complex<double>;

/// A vector of real numbers, or of complex numbers as real and imaginary parts in turn. (For a product of two
/// std::complex, compilers emit a call that handles NaN.)
class Vector {
 public:
  Vector(std::int64_t size, bool complex)
      : width_(complex ? 2 : 1), reals_(static_cast<std::size_t>(size) * static_cast<std::size_t>(width_)) {}

  double* at(std::int64_t i) { return reals_.data() + i * width_; }
  const double* at(std::int64_t i) const { return reals_.data() + i * width_; }
  Number operator[](std::int64_t i) const { return {at(i)[0], width_ == 2 ? at(i)[1] : 0}; }
  std::int64_t size() const { return static_cast<std::int64_t>(reals_.size()) / width_; }
  std::span<const double> reals() const { return reals_; }

  void add(std::int64_t i, Number value) {
    at(i)[0] += value.real();
    if (width_ == 2) at(i)[1] += value.imag();
  }
  /// this = factor this + other
  void scale_and_add(Number factor, const Vector& other) {
    for (std::int64_t i = 0; i < size(); ++i) {
      const Number value = (*this)[i];
      at(i)[0] = factor.real() * value.real() - factor.imag() * value.imag();
      if (width_ == 2) at(i)[1] = factor.real() * value.imag() + factor.imag() * value.real();
      add(i, other[i]);
    }
  }

 private:
  std::int64_t width_;
  std::vector<double> reals_;
};

/// Returns independent entries of either sign with mean square 1, and none near 0. If a matrix has an error, its
/// product with this vector has an error of about its Frobenius norm.
Vector random_vector(std::int64_t size, bool complex, std::uint64_t seed);

/// What the elements of an operand represent.
enum class Structure : std::uint8_t { general, triangular, unit_triangular, symmetric, hermitian };

struct Factor {
  operation::Operand operand;
  Structure structure = Structure::general;
  Transpose transpose = Transpose::none;  ///< for general and triangular matrices
};

struct Product {
  Vector vector;
  double squares = 0;  ///< sum of the squared magnitudes of the matrix' elements

  void add(const Product& other) {
    vector.scale_and_add(1, other.vector);
    squares += other.squares;
  }
};

/// The product with a vector. `workers`: null, or threads that share the columns.
Product multiply(const Factor& factor, const Vector& x, Scalar scalar, platform::WorkerPool* workers);

}  // namespace blastoff::blas::check
