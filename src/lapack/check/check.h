// The common parts of the checks: access to the operation's arguments, random vectors, the verdict.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lapack/check/matrix.h"
#include "lapack/kinds.h"
#include "operation/verification.h"

namespace blastoff::lapack::check {

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
