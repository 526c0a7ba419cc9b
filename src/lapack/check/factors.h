// Matrices that are given by their factors, as LAPACK stores them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "lapack/check/check.h"

namespace blastoff::lapack::check {

/// The diagonal of a matrix and the elements below it, or above it.
operation::Operand lower_trapezoid(operation::Operand operand);
operation::Operand upper_trapezoid(operation::Operand operand);

class Factored {
 public:
  virtual ~Factored() = default;
  virtual Vector times(Vector x) const = 0;
  virtual Vector adjoint_times(Vector x) const = 0;
  virtual std::int64_t columns() const = 0;

  /// The size to which the rounding errors of a solution with these factors are proportional: the spectral norm of the
  /// matrix, or the spectral norm of U if elements have grown in the elimination.
  virtual double magnitude() const;
};

/// Estimates the largest singular value of a matrix with n columns, from its products with vectors. A power iteration
/// falls a little short of it. Infinite if the products are not finite.
template <class Times, class AdjointTimes>
double spectral_norm(std::int64_t n, Times times, AdjointTimes adjoint_times) {
  constexpr int steps = 3;
  Vector x = random_vector(n, trials);
  double largest = 0;
  for (int step = 0; step < steps && normalize(x) > 0; ++step) {
    Vector y = times(x);
    const double length = normalize(y);
    if (!std::isfinite(length)) return std::numeric_limits<double>::infinity();
    largest = std::max(largest, length);
    x = adjoint_times(y);
  }
  return largest;
}

/// A = L L^H. The stored triangle is L or L^H.
class Cholesky final : public Factored {
 public:
  Cholesky(const Matrix& triangle, bool upper) : triangle_(triangle), upper_(upper) {}

  Vector left_times(const Vector& x) const { return upper_ ? triangle_.adjoint_times(x) : triangle_.times(x); }
  Vector right_times(const Vector& x) const { return upper_ ? triangle_.times(x) : triangle_.adjoint_times(x); }
  Vector left_solve(const Vector& x) const { return upper_ ? triangle_.adjoint_solve(x) : triangle_.solve(x); }
  Vector right_solve(const Vector& x) const { return upper_ ? triangle_.solve(x) : triangle_.adjoint_solve(x); }

  Vector times(Vector x) const override { return left_times(right_times(x)); }
  Vector adjoint_times(Vector x) const override { return times(x); }
  std::int64_t columns() const override { return triangle_.columns(); }

 private:
  Matrix triangle_;
  bool upper_;
};

/// A = P L U with m rows and n columns.
class PivotedLu final : public Factored {
 public:
  PivotedLu(const operation::Operand& factors, blas::Scalar scalar, std::vector<std::int64_t> pivots);

  Vector times(Vector x) const override;
  Vector adjoint_times(Vector x) const override;
  std::int64_t columns() const override { return upper_.columns(); }
  double magnitude() const override;
  double norm_of_upper() const { return upper_.norm(); }

 private:
  /// Returns false if there is no such row.
  bool exchange_rows(Vector& x, std::size_t step) const;

  Matrix lower_;
  Matrix upper_;
  std::vector<std::int64_t> pivots_;
};

/// A = L D L^T, or U D U^T: the symmetric matrix of which sytrf found these factors and pivots. L is a product of row
/// exchanges and of columns of multipliers, one or two at a time.
class PivotedLdl final : public Factored {
 public:
  PivotedLdl(const Matrix& triangle, bool upper, const std::vector<std::int64_t>& pivots);

  Vector times(Vector x) const override;
  Vector adjoint_times(Vector x) const override { return conjugate(times(conjugate(std::move(x)))); }
  std::int64_t columns() const override { return triangle_.columns(); }

 private:
  /// One step of the elimination.
  struct Step {
    std::int64_t first;    ///< the first row of its block of D
    std::int64_t size;     ///< rows of the block
    std::int64_t row;      ///< this row was exchanged
    std::int64_t partner;  ///< with this one
  };

  /// The multipliers in a column: all of the triangle but the block of D.
  Matrix::Column multipliers(const Step& step, std::int64_t column, Vector& buffer) const;
  void times_block(const Step& step, Vector& x) const;

  Matrix triangle_;
  bool upper_;
  std::vector<Step> steps_;  ///< in the order of the elimination
  bool valid_ = true;        ///< whether the pivots can be those of a factorization
};

/// Q = H(1) ... H(k), H(i) = I - tau(i) v v^H. Column i of the matrix holds v below its diagonal; the diagonal element
/// of v is 1.
class Reflectors {
 public:
  Reflectors(const operation::Operand& vectors, blas::Scalar scalar, Vector tau);

  Vector times(Vector x) const;
  Vector adjoint_times(Vector x) const;
  /// The largest deviation of a reflector from a unitary matrix, in the Frobenius norm.
  double departure() const;

 private:
  Matrix vectors_;
  Vector tau_;
};

/// A = Q R with m rows and n columns.
class QrFactored final : public Factored {
 public:
  QrFactored(const operation::Operand& factors, blas::Scalar scalar, const Vector& tau);

  Vector times(Vector x) const override;
  Vector adjoint_times(Vector x) const override;
  std::int64_t columns() const override { return upper_.columns(); }
  double departure() const { return reflectors_.departure(); }

 private:
  std::size_t rows_;
  Matrix upper_;
  Reflectors reflectors_;
};

/// A matrix that is stored itself.
class Unfactored final : public Factored {
 public:
  explicit Unfactored(const Matrix& matrix) : matrix_(matrix) {}

  Vector times(Vector x) const override { return matrix_.times(x); }
  Vector adjoint_times(Vector x) const override { return matrix_.adjoint_times(x); }
  std::int64_t columns() const override { return matrix_.columns(); }

 private:
  Matrix matrix_;
};

}  // namespace blastoff::lapack::check
