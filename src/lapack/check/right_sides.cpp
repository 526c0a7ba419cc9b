#include "lapack/check/right_sides.h"

#include <cmath>
#include <limits>

namespace blastoff::lapack::check {

RightSides::RightSides(const Check& check) {
  operation::Operand given = check.operand(Argument::b);
  given.rows = check.problem().m;  // solutions may have more rows than right-hand sides
  const Matrix columns(given, check.problem().scalar());
  const double least = min_norm(check.problem());
  for (const double norm : columns.column_norms()) weights_.push_back(norm > least ? 1 / norm : 0);
  for (std::size_t trial = 0; trial < trials; ++trial) before_.push_back(columns.times(combination(trial)));
}

Vector RightSides::combination(std::size_t trial) const {
  return product(weights_, random_vector(static_cast<std::int64_t>(weights_.size()), trial));
}

double RightSides::norm() const {
  double result = 0;
  for (const double weight : weights_) result = std::hypot(result, weight > 0 ? 1 : 0);
  return result;
}

double RightSides::norm_of(const Matrix& columns) const {
  const std::vector<double> norms = columns.column_norms();
  double result = 0;
  for (std::size_t j = 0; j < norms.size(); ++j) result = std::hypot(result, weights_[j] * norms[j]);
  return result;
}

double RightSides::min_norm(const Problem& problem) {
  const bool single = problem.real_bytes() == sizeof(float);
  const double min_normal = single ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
  return min_normal / blas::machine_epsilon(problem.scalar());
}

}  // namespace blastoff::lapack::check
