// Eigenvalues and eigenvectors of Hermitian matrices, alone or in pairs, and the reduction of pairs.
#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lapack/check/factors.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operation;

double root(std::int64_t count) {
  return std::sqrt(static_cast<double>(count));
}

/// Checks that the eigenvalues of a Hermitian problem are in ascending order and in the range that was asked for, and
/// that their number is right.
void inspect_order(const Check& check, double norm, Discrepancy& discrepancy) {
  const std::vector<double> values = check.reals(Argument::w);
  for (std::size_t i = 1; i < values.size(); ++i)
    discrepancy.add(std::max(0.0, values[i - 1] - values[i]), norm, static_cast<std::int64_t>(i));
  if (!argument_list(check.problem().routine).has(Argument::found)) return;
  if (check.integers(Argument::found).front() != check.found()) discrepancy.fail();
  if (!check.problem().counts_afterwards()) return;
  for (const double value : values)
    discrepancy.add(std::max({0.0, check.problem().vl - value, value - check.problem().vu}), norm);
}

/// Returns the eigenvectors. They replace the matrix A if the routine has no argument for them.
Matrix eigenvectors(const Check& check) {
  const bool apart = argument_list(check.problem().routine).has(Argument::z);
  return check.matrix(apart ? Argument::z : Argument::a);
}

/// The matrix A of a Hermitian problem, available before and after the operation. It is copied if the operation
/// overwrites it.
class HermitianInput {
 public:
  explicit HermitianInput(const Check& check)
      : matrix_(check.triangle(Argument::a, Structure::hermitian)), norm_(matrix_.norm()) {
    if (!operation::writes(check.operand(Argument::a).intent)) return;
    operation::Operand stored = check.operand(Argument::a);
    stored.part = check.problem().upper() ? operation::Part::upper : operation::Part::lower;
    copy_.emplace(stored);
    matrix_ = Matrix(copy_->operand(), check.problem().scalar(), Structure::hermitian);
  }

  const Matrix& matrix() const { return matrix_; }
  double norm() const { return norm_; }

 private:
  Matrix matrix_;
  double norm_;
  std::optional<Copy> copy_;
};

/// A z = w z
class Eigenproblem final : public Check {
 public:
  explicit Eigenproblem(const Operation& operation) : Check(operation), a_(*this) {}

  void inspect(Discrepancy& discrepancy) const override {
    inspect_order(*this, a_.norm(), discrepancy);
    if (problem().wants_vectors()) {
      inspect_vectors(discrepancy);
    } else {
      inspect_values(discrepancy);
    }
  }

 private:
  void inspect_vectors(Discrepancy& discrepancy) const {
    const Matrix z = eigenvectors(*this);
    const std::vector<double> values = reals(Argument::w);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector y = random_vector(z.columns(), trial);
      const Vector combined = z.times(y);
      discrepancy.add(a_.matrix().times(combined), z.times(product(values, y)), a_.norm());
      discrepancy.add(z.adjoint_times(combined), y, root(z.columns()));
    }
  }

  /// All eigenvalues together have A's trace and its norm. If only some were computed, each is checked not to be larger
  /// than the norm.
  void inspect_values(Discrepancy& discrepancy) const {
    const std::vector<double> values = reals(Argument::w);
    if (found() < problem().n) {
      for (const double value : values) discrepancy.add(std::max(0.0, std::abs(value) - a_.norm()), a_.norm());
      return;
    }
    double sum = 0;
    for (const double value : values) sum += value;
    discrepancy.add(std::abs(sum - a_.matrix().trace().real()), a_.norm());
    discrepancy.add(std::abs(norm(values) - a_.norm()), a_.norm());
  }

  HermitianInput a_;
};

struct Norms {
  double condition;  ///< condition number of L
  double reduced;    ///< norm of C
  double back;       ///< norm of the factor from C's residual to the problem's residual
};

Norms norms_of(const Cholesky& b, const Problem& problem, double norm_of_a) {
  const double left = spectral_norm(
      problem.n, [&](const Vector& x) { return b.left_times(x); }, [&](const Vector& x) { return b.right_times(x); });
  const double inverse = spectral_norm(
      problem.n, [&](const Vector& x) { return b.left_solve(x); }, [&](const Vector& x) { return b.right_solve(x); });
  const double factor = problem.itype == 1 ? inverse : left;
  return {left * inverse, factor * factor * norm_of_a, problem.itype == 2 ? inverse : left};
}

/// A z = w B z, A B z = w z, B A z = w z, with B = L L^H. Each problem is equivalent to C y = w y for a Hermitian
/// matrix C. The norm of C is at most |inv(L)|^2 |A|, or |L|^2 |A|. LAPACK computes C, so its rounding errors are
/// relative to that norm. The step from y back to z magnifies these errors in the residuals.
class GeneralizedEigenproblem final : public Check {
 public:
  explicit GeneralizedEigenproblem(const Operation& operation) : Check(operation), a_(*this) {
    const Matrix b = triangle(Argument::b, Structure::hermitian);
    norm_of_b_ = b.norm();
    for (std::size_t trial = 0; trial < trials; ++trial)
      products_with_b_.push_back(b.times(random_vector(problem().n, trial)));
  }

  void inspect(Discrepancy& discrepancy) const override {
    const Cholesky b(triangle(Argument::b), problem().upper());
    for (std::size_t trial = 0; trial < trials; ++trial)
      discrepancy.add(b.times(random_vector(problem().n, trial)), products_with_b_[trial], norm_of_b_);
    const Norms norms = norms_of(b, problem(), a_.norm());
    inspect_order(*this, norms.reduced, discrepancy);
    if (problem().wants_vectors()) {
      inspect_vectors(b, norms, discrepancy);
    } else if (found() == problem().n) {
      inspect_values(b, norms, discrepancy);
    }
  }

 private:
  void inspect_vectors(const Cholesky& b, const Norms& norms, Discrepancy& discrepancy) const {
    const Matrix z = eigenvectors(*this);
    const std::vector<double> values = reals(Argument::w);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector y = random_vector(z.columns(), trial);
      const Vector combined = z.times(y);
      const Vector scaled = z.times(product(values, y));
      discrepancy.add(left_side(b, combined), problem().itype == 1 ? b.times(scaled) : scaled,
                      norms.back * norms.reduced * norms.condition);
      discrepancy.add(z.adjoint_times(metric(b, combined)), y, norms.condition * root(z.columns()));
    }
  }

  Vector left_side(const Cholesky& b, const Vector& z) const {
    const Matrix& a = a_.matrix();
    switch (problem().itype) {
      case 1: return a.times(z);
      case 2: return a.times(b.times(z));
      default: return b.times(a.times(z));
    }
  }

  /// Multiplies by the matrix in whose product the eigenvectors are orthonormal: B or its inverse.
  Vector metric(const Cholesky& b, const Vector& z) const {
    return problem().itype == 3 ? b.right_solve(b.left_solve(z)) : b.times(z);
  }

  /// Checks that Rayleigh quotients of C lie between its first and its last eigenvalue.
  void inspect_values(const Cholesky& b, const Norms& norms, Discrepancy& discrepancy) const {
    const std::vector<double> values = reals(Argument::w);
    const bool inverse = problem().itype == 1;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector y = random_vector(problem().n, trial);
      const Vector x = inverse ? b.right_solve(y) : b.left_times(y);
      const Vector image = a_.matrix().times(x);
      Number quotient = 0;
      for (std::size_t i = 0; i < x.size(); ++i) quotient += std::conj(x[i]) * image[i];
      quotient /= norm(y) * norm(y);
      const double outside = std::max(values.front() - quotient.real(), quotient.real() - values.back());
      discrepancy.add(std::max(0.0, outside), norms.reduced);
    }
  }

  HermitianInput a_;
  double norm_of_b_ = 0;
  std::vector<Vector> products_with_b_;
};

/// C = inv(L) A inv(L)^H, or L^H A L. Compares products with A and L, from before the operation, with products with C.
class Reduction final : public Check {
 public:
  explicit Reduction(const Operation& operation) : Check(operation) {
    const Matrix a = triangle(Argument::a, Structure::hermitian);
    const Cholesky b(triangle(Argument::b), problem().upper());
    const Norms norms = norms_of(b, problem(), a.norm());
    scale_ = norms.reduced * norms.condition;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector x = random_vector(problem().n, trial);
      products_.push_back(problem().itype == 1 ? b.left_solve(a.times(b.right_solve(x)))
                                               : b.right_times(a.times(b.left_times(x))));
    }
  }

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix c = triangle(Argument::a, Structure::hermitian);
    for (std::size_t trial = 0; trial < trials; ++trial)
      discrepancy.add(c.times(random_vector(problem().n, trial)), products_[trial], scale_);
  }

 private:
  double scale_ = 0;
  std::vector<Vector> products_;
};

}  // namespace

std::unique_ptr<operation::Verification> eigenproblem(const Operation& operation) {
  return std::make_unique<Eigenproblem>(operation);
}

std::unique_ptr<operation::Verification> generalized_eigenproblem(const Operation& operation) {
  return std::make_unique<GeneralizedEigenproblem>(operation);
}

std::unique_ptr<operation::Verification> reduction(const Operation& operation) {
  return std::make_unique<Reduction>(operation);
}

}  // namespace blastoff::lapack::check
