// Matrices in an operand's memory, multiplied with vectors in double precision.
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

/// What the elements of an operand represent. Elements outside of the operand's part are never read.
enum class Structure : std::uint8_t {
  stored,         ///< the stored elements; the elements outside of the part are zero
  unit_diagonal,  ///< as `stored`, but with ones on the diagonal, whatever is stored there
  hermitian,      ///< a triangle that stands for both; the diagonal is real
  symmetric,      ///< a triangle that stands for both, which are not conjugate
};

/// How the columns follow each other in memory.
enum class Storage : std::uint8_t {
  columns,  ///< at the distance of the leading dimension
  packed,   ///< without gaps; the columns of a triangle
};

/// A view: the operand's memory must outlive it.
class Matrix {
 public:
  /// For a packed triangle, `operand` has the sizes and the part of the unpacked triangle.
  Matrix(const operation::Operand& operand, blas::Scalar scalar, Structure structure = Structure::stored,
         Storage storage = Storage::columns);

  std::int64_t rows() const { return operand_.rows; }
  std::int64_t columns() const { return operand_.columns; }

  Vector times(const Vector& x) const;
  Vector adjoint_times(const Vector& x) const;

  /// Multiplies `x` by the inverse of a triangle, or of its adjoint.
  Vector solve(Vector x) const;
  Vector adjoint_solve(Vector x) const;

  /// Frobenius norm.
  double norm() const;
  std::vector<double> column_norms() const;
  Number trace() const;
  bool finite() const;

  /// The elements of one column that may differ from zero. The first of them is in row `first`.
  struct Column {
    std::int64_t first;
    std::span<const Number> elements;
    std::int64_t last() const { return first + static_cast<std::int64_t>(elements.size()); }
    const Number& operator[](std::int64_t row) const { return elements[static_cast<std::size_t>(row - first)]; }
  };
  /// `buffer` holds the elements. For a Hermitian or symmetric matrix, these are the elements of the stored triangle.
  Column column(std::int64_t index, Vector& buffer) const;
  /// Only for a matrix that is stored in full.
  Vector row(std::int64_t index) const;

 private:
  /// Returns the address of the first stored element of a column, which is in row `first`.
  const char* address(std::int64_t index, std::int64_t first) const;

  operation::Operand operand_;
  blas::Scalar scalar_;
  Structure structure_;
  Storage storage_;
};

/// x^H y
Number dot(const Matrix::Column& x, const Vector& y);
/// x^T y
Number product(const Matrix::Column& x, const Vector& y);
/// y += factor x
void add(Vector& y, Number factor, const Matrix::Column& x);

double norm(std::span<const Number> x);
double norm(std::span<const double> x);
/// Divides a vector by its norm, and returns the norm.
double normalize(Vector& x);
/// Multiplies element by element.
Vector product(std::span<const double> factors, Vector x);
Vector conjugate(Vector x);
/// Copies elements of any precision, which are stored one after the other, to double precision.
void widen(const void* address, blas::Scalar scalar, std::span<Number> result);

}  // namespace blastoff::lapack::check
