// Matrices as their operands hold them, multiplied with vectors in double precision.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "blas/types.h"
#include "operation/operand.h"

namespace blastoff::lapack::check {

using Number = std::complex<double>;
using Vector = std::vector<Number>;

/// What the elements of an operand stand for. Elements outside of its part are never read.
enum class Structure : std::uint8_t {
  stored,         ///< themselves; those outside of the part are zero
  unit_diagonal,  ///< likewise, with ones on the diagonal, whatever is stored there
  hermitian,      ///< one triangle and, reflected, the other; the diagonal is real
};

/// How the columns follow each other.
enum class Storage : std::uint8_t {
  columns,  ///< at the distance of the leading dimension
  packed,   ///< without gaps, of a triangle
};

/// A view: the operand's memory must outlive it.
class Matrix {
 public:
  /// Of a packed triangle, the operand has the sizes and the part that it would have unpacked.
  Matrix(const operation::Operand& operand, blas::Scalar scalar, Structure structure = Structure::stored,
         Storage storage = Storage::columns);

  std::int64_t rows() const { return operand_.rows; }
  std::int64_t columns() const { return operand_.columns; }

  Vector times(const Vector& x) const;
  Vector adjoint_times(const Vector& x) const;

  /// The inverse of a triangle, and of its adjoint, times `x`.
  Vector solve(Vector x) const;
  Vector adjoint_solve(Vector x) const;

  /// Frobenius norm.
  double norm() const;
  std::vector<double> column_norms() const;
  Number trace() const;
  bool finite() const;

  /// The elements of one column that may differ from zero, the first of them in row `first`.
  struct Column {
    std::int64_t first;
    std::span<const Number> elements;
    std::int64_t last() const { return first + static_cast<std::int64_t>(elements.size()); }
    const Number& operator[](std::int64_t row) const { return elements[static_cast<std::size_t>(row - first)]; }
  };
  /// `buffer` holds the elements. Of a Hermitian matrix: those of the stored triangle.
  Column column(std::int64_t index, Vector& buffer) const;
  /// Of a matrix that is stored in full.
  Vector row(std::int64_t index) const;

 private:
  /// The first stored element of a column, in row `first`.
  const char* address(std::int64_t index, std::int64_t first) const;

  operation::Operand operand_;
  blas::Scalar scalar_;
  Structure structure_;
  Storage storage_;
};

/// x^H y
Number dot(const Matrix::Column& x, const Vector& y);
/// y += factor x
void add(Vector& y, Number factor, const Matrix::Column& x);

double norm(std::span<const Number> x);
double norm(std::span<const double> x);
/// Divides by the norm, which it returns.
double normalize(Vector& x);
/// Element by element.
Vector product(std::span<const double> factors, Vector x);
Vector conjugate(Vector x);
/// Elements of any precision, one after the other, in double precision.
void widen(const void* address, blas::Scalar scalar, std::span<Number> result);

}  // namespace blastoff::lapack::check
