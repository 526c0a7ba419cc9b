// Random combinations of right-hand sides and of their solutions.
#pragma once

#include <vector>

#include "lapack/check/check.h"

namespace blastoff::lapack::check {

/// All columns count alike, however small they are.
class RightSides {
 public:
  /// Before the operation.
  explicit RightSides(const Check& check);

  /// Weights of the columns for a random combination of them.
  Vector combination(std::size_t trial) const;
  /// The combination of the right-hand sides as they were before the operation.
  const Vector& before(std::size_t trial) const { return before_[trial]; }

  /// The Frobenius norm of all right-hand sides after weighting.
  double norm() const;
  /// The same for the columns of another matrix.
  double norm_of(const Matrix& columns) const;

  /// LAPACK scales matrices with a smaller norm than this.
  static double min_norm(const Problem& problem);

 private:
  std::vector<double> weights_;  ///< 0 for columns that are so small that rounding errors are absolute
  std::vector<Vector> before_;
};

}  // namespace blastoff::lapack::check
