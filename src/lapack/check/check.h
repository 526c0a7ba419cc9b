// What the checks of all families of routines share: access to the operation's arguments, random vectors, the verdict.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "lapack/check/matrix.h"
#include "lapack/problem.h"
#include "operation/verification.h"

namespace blastoff::lapack::check {

/// Each check is made with so many random vectors.
inline constexpr std::size_t trials = 2;

/// The same for each run. Its entries are independent, of either sign, with mean square 1 and none near 0: an error E
/// of a matrix makes an error of about the Frobenius norm of E in the product with it, one of a single element at least
/// half of that.
Vector random_vector(std::int64_t size, std::size_t trial);

/// The largest relative error that was found.
class Discrepancy {
 public:
  explicit Discrepancy(double bound) : comparison_{.checked = true, .bound = bound} {}

  /// An error of NaN is infinite. A scale beyond the range of double tells nothing: the result is not checked, unless
  /// an error is found elsewhere.
  void add(double error, double scale, std::int64_t row = 0);
  /// The norm of the difference.
  void add(const Vector& actual, const Vector& expected, double scale);
  /// A result that cannot be right.
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

  /// Adds the errors of the results, which are finite.
  virtual void inspect(Discrepancy& discrepancy) const = 0;

  const Problem& problem() const { return problem_; }
  Kind kind() const { return problem_.kind(); }
  /// Those that were found, where z is that of eigenvectors whose number is known only afterwards.
  operation::Operand operand(Argument argument) const;
  Matrix matrix(Argument argument, Structure structure = Structure::stored) const;
  /// The triangle that `uplo` names, of a square matrix, which may be packed.
  Matrix triangle(Argument argument, Structure structure = Structure::stored) const;

  std::int64_t found() const;  ///< eigenvalues
  std::vector<std::int64_t> integers(Argument argument) const;
  std::vector<double> reals(Argument argument) const;
  Vector numbers(Argument argument) const;

 protected:
  explicit Check(const operation::Operation& operation);

 private:
  bool results_finite() const;
  /// As much of it as holds results.
  operation::HostVector vector(Argument argument) const;

  operation::Operation operation_;
  Problem problem_;
};

/// The elements of an operand's part, kept.
class Copy {
 public:
  explicit Copy(const operation::Operand& operand);
  const operation::Operand& operand() const { return operand_; }

 private:
  operation::Operand operand_;
  std::unique_ptr<char[]> elements_;
};

}  // namespace blastoff::lapack::check
