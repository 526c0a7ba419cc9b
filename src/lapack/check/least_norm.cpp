// Least squares by singular values.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "lapack/check/families.h"
#include "lapack/check/right_sides.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operand;
using operation::Operation;

Vector divided(Vector x, double divisor) {
  for (Number& value : x) value /= divisor;
  return x;
}

Vector difference(Vector x, const Vector& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

/// The residual B - A X is orthogonal to the columns of A, as far as A has not lost rank. The rows of B below X are as
/// long as the residual.
class LeastNorm final : public Check {
 public:
  explicit LeastNorm(const Operation& operation) : Check(operation), right_sides_(*this) {
    if (operation::writes(operand(Argument::a).intent)) kept_.emplace(operand(Argument::a));
    norm_ = a().norm();
  }

  void inspect(Discrepancy& discrepancy) const override {
    const std::vector<double> values = reals(Argument::w);
    for (std::size_t i = 0; i < values.size(); ++i)
      discrepancy.add(std::max(0.0, (i + 1 < values.size() ? values[i + 1] : 0) - values[i]), norm_,
                      static_cast<std::int64_t>(i));
    discrepancy.add(std::abs(norm(values) - norm_), norm_);
    const std::int64_t rank = integers(Argument::rank).front();
    if (!fits(rank, values, discrepancy.bound())) return discrepancy.fail();
    if (norm_ == 0) return;
    const double largest_lost = rank < problem().min_side() ? values[static_cast<std::size_t>(rank)] : 0;
    inspect_solutions(rank, values.front(), largest_lost / norm_, discrepancy);
    if (kept_ && problem().m >= problem().n) inspect_vectors(values, discrepancy);
  }

 private:
  Matrix a() const { return {kept_ ? kept_->operand() : operand(Argument::a), problem().scalar()}; }

  /// The first or the last rows of a matrix.
  Matrix first_rows(Argument argument, std::int64_t count) const {
    Operand rows = operand(argument);
    rows.rows = count;
    return {rows, problem().scalar()};
  }
  Matrix last_rows(Argument argument, std::int64_t count) const {
    Operand rows = operand(argument);
    rows.address = static_cast<char*>(rows.address) + static_cast<std::size_t>(rows.rows - count) * rows.element_size;
    rows.rows = count;
    return {rows, problem().scalar()};
  }

  /// Whether the rank is the number of singular values above the limit. A value near it may count or not.
  bool fits(std::int64_t rank, const std::vector<double>& values, double error) const {
    const double epsilon = blas::machine_epsilon(problem().scalar());
    const double limit = problem().rcond() > 0 ? problem().rcond() : problem().rcond() < 0 ? epsilon : 0;
    const auto count = [&](double least) {
      return std::count_if(values.begin(), values.end(),
                           [&](double value) { return value > std::max(0.0, least) * values.front(); });
    };
    return count(limit + error) <= rank && rank <= count(limit - error);
  }

  void inspect_solutions(std::int64_t rank, double largest, double lost, Discrepancy& discrepancy) const {
    const Matrix a = this->a();
    const Matrix solutions = first_rows(Argument::b, problem().n);
    const double scale = right_sides_.norm() + largest * right_sides_.norm_of(solutions);
    for (std::size_t trial = 0; trial < trials && scale > 0; ++trial) {
      const Vector combination = right_sides_.combination(trial);
      const Vector& given = right_sides_.before(trial);
      const Vector residual = divided(difference(given, a.times(solutions.times(combination))), scale);
      const double residual_in_range = norm(divided(a.adjoint_times(residual), norm_));
      discrepancy.add(std::max(0.0, residual_in_range - lost * norm(given) / scale), 1);
      if (rank == problem().m) discrepancy.add(norm(residual), 1);
      if (rank < problem().n || problem().m == problem().n) continue;
      const Vector rest = last_rows(Argument::b, problem().m - problem().n).times(combination);
      discrepancy.add(std::abs(norm(divided(rest, scale)) - norm(residual)), 1);
    }
  }

  /// gelss returns V^H in the first rows of A, if there are as many as columns: A^H A = V S S V^H.
  void inspect_vectors(const std::vector<double>& values, Discrepancy& discrepancy) const {
    const Matrix a = this->a();
    const Matrix vt = first_rows(Argument::a, problem().n);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector x = random_vector(problem().n, trial);
      discrepancy.add(vt.adjoint_times(vt.times(x)), x, std::sqrt(static_cast<double>(problem().n)));
      const Vector stretched = product(values, divided(product(values, vt.times(x)), norm_));
      discrepancy.add(a.adjoint_times(divided(a.times(x), norm_)), vt.adjoint_times(stretched), norm_);
    }
  }

  RightSides right_sides_;
  std::optional<Copy> kept_;  ///< A, if the routine overwrites it
  double norm_ = 0;
};

}  // namespace

std::unique_ptr<operation::Verification> least_norm(const Operation& operation) {
  return std::make_unique<LeastNorm>(operation);
}

}  // namespace blastoff::lapack::check
