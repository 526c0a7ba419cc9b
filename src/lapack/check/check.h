// The common parts of the checks: matrices in operands' memory, multiplied with vectors in double precision; access to
// the operation's arguments, random vectors, the verdict.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "blas/types.h"
#include "lapack/kinds.h"
#include "operation/operand.h"
#include "operation/verification.h"

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

/// Number of random vectors for each check.
inline constexpr std::size_t trials = 2;

/// Returns the same vector in each run. Its entries are independent, of either sign, with mean square 1 and none near
/// 0. If a matrix has an error E, its product with this vector has an error of about the Frobenius norm of E. An error
/// of a single element gives an error of at least half its size.
Vector random_vector(std::int64_t size, std::size_t trial);

/// The largest relative error that was found.
class Discrepancy {
 public:
  explicit Discrepancy(double bound) : comparison_{.checked = true, .bound = bound} {}

  /// Adds an error, relative to `scale`. An error of NaN counts as infinite. A scale beyond the range of double tells
  /// nothing: the result then counts as not checked, unless another error is too large.
  void add(double error, double scale, std::int64_t row = 0);
  /// Adds the norm of the difference of two vectors.
  void add(const Vector& actual, const Vector& expected, double scale);
  /// Notes a result that cannot be right.
  void fail();
  void add(const Discrepancy& other);

  double relative_error() const { return comparison_.relative_error; }
  double bound() const { return comparison_.bound; }
  operation::Comparison comparison() const;

 private:
  operation::Comparison comparison_;
};

class Check : public operation::Verification {
 public:
  operation::Comparison compare() const final;

  /// Adds the errors of the results. The results are finite.
  virtual void inspect(Discrepancy& discrepancy) const = 0;

  const Problem& problem() const { return problem_; }
  const KindRow& kind() const;
  /// Returns the operand for an argument. If the number of eigenvectors is known only afterwards, z has as many columns
  /// as were found.
  operation::Operand operand(Argument argument) const;
  Matrix matrix(Argument argument, Structure structure = Structure::stored) const;
  /// Returns the triangle that `uplo` names of a square matrix, which may be packed.
  Matrix triangle(Argument argument, Structure structure = Structure::stored) const;

  std::int64_t found() const;  ///< number of eigenvalues that were found
  std::vector<std::int64_t> integers(Argument argument) const;
  std::vector<double> reals(Argument argument) const;
  Vector numbers(Argument argument) const;

 protected:
  explicit Check(const operation::Operation& operation);

 private:
  bool results_finite() const;
  /// Returns the part of a vector that holds results.
  operation::HostVector vector(Argument argument) const;

  operation::Operation operation_;
  Problem problem_;
};

/// The integers of a vector in host memory.
std::vector<std::int64_t> integers_of(const Problem& problem, const operation::HostVector& vector);

/// A copy of the elements of an operand's part.
class Copy {
 public:
  explicit Copy(const operation::Operand& operand);
  const operation::Operand& operand() const { return operand_; }

 private:
  operation::Operand operand_;
  std::unique_ptr<char[]> elements_;
};

}  // namespace blastoff::lapack::check
