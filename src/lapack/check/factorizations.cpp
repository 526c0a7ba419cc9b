// Checks factorizations, solutions, inverses, and matrices made of Householder reflectors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "lapack/check/factors.h"
#include "lapack/check/families.h"
#include "lapack/check/right_sides.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operation;

/// Returns the matrix that the operand a represents by its factors, or the triangle that it is.
std::unique_ptr<Factored> factored(const Check& check) {
  const auto scalar = check.problem().scalar();
  switch (check.kind().family) {
    case Family::cholesky: return std::make_unique<Cholesky>(check.triangle(Argument::a), check.problem().upper());
    case Family::indefinite:
      return std::make_unique<PivotedLdl>(check.triangle(Argument::a), check.problem().upper(),
                                          check.integers(Argument::ipiv));
    case Family::orthogonal:
      return std::make_unique<QrFactored>(check.operand(Argument::a), scalar, check.numbers(Argument::tau));
    case Family::triangle: {
      const bool unit = check.problem().diag == 'u';
      return std::make_unique<Unfactored>(
          check.triangle(Argument::a, unit ? Structure::unit_diagonal : Structure::stored));
    }
    default: return std::make_unique<PivotedLu>(check.operand(Argument::a), scalar, check.integers(Argument::ipiv));
  }
}

/// Compares products with A, from before the operation, with products with the factors, from after it.
class Factorization final : public Check {
 public:
  explicit Factorization(const Operation& operation) : Check(operation) {
    const Family family = kind().family;
    const Matrix a = family == Family::cholesky     ? triangle(Argument::a, Structure::hermitian)
                     : family == Family::indefinite ? triangle(Argument::a, Structure::symmetric)
                                                    : matrix(Argument::a);
    norm_ = a.norm();
    for (std::size_t trial = 0; trial < trials; ++trial)
      products_.push_back(a.times(random_vector(problem().n, trial)));
  }

  void inspect(Discrepancy& discrepancy) const override {
    const std::unique_ptr<Factored> factors = factored(*this);
    const auto* lu = dynamic_cast<const PivotedLu*>(factors.get());
    const double scale = lu != nullptr ? std::max(norm_, lu->norm_of_upper()) : norm_;
    for (std::size_t trial = 0; trial < trials; ++trial)
      discrepancy.add(factors->times(random_vector(problem().n, trial)), products_[trial], scale);
    if (const auto* qr = dynamic_cast<const QrFactored*>(factors.get())) discrepancy.add(qr->departure(), 1);
  }

 private:
  double norm_ = 0;
  std::vector<Vector> products_;
};

/// Compares residuals of random combinations of the columns. All columns count alike, however small their right-hand
/// sides are.
class Solution final : public Check {
 public:
  explicit Solution(const Operation& operation) : Check(operation), right_sides_(*this) {
    if (kind().action == Action::factor_and_solve) factorization_.emplace(operation);
  }

  void inspect(Discrepancy& discrepancy) const override {
    if (factorization_) factorization_->inspect(discrepancy);
    const std::unique_ptr<Factored> factors = factored(*this);
    const Matrix solutions = matrix(Argument::b);
    const double scale = factors->magnitude() * right_sides_.norm_of(solutions);
    for (std::size_t trial = 0; trial < trials; ++trial)
      discrepancy.add(applied(*factors, solutions.times(right_sides_.combination(trial))), right_sides_.before(trial),
                      scale);
  }

 private:
  Vector applied(const Factored& a, Vector x) const {
    switch (problem().trans) {
      case 't': return conjugate(a.adjoint_times(conjugate(std::move(x))));
      case 'c': return a.adjoint_times(std::move(x));
      default: return a.times(std::move(x));
    }
  }

  RightSides right_sides_;
  std::optional<Factorization> factorization_;
};

/// Takes products with A and its adjoint before the operation, and applies the inverse and its adjoint to them
/// afterwards. Methods for the inverse are stable from one side only (Higham, Accuracy and Stability of Numerical
/// Algorithms, chapter 14), so one side is enough.
class Inverse final : public Check {
 public:
  explicit Inverse(const Operation& operation) : Check(operation) {
    const std::unique_ptr<Factored> a = factored(*this);
    magnitude_ = a->magnitude();
    for (std::size_t trial = 0; trial < trials; ++trial) {
      products_.push_back(a->times(random_vector(problem().n, trial)));
      adjoint_products_.push_back(a->adjoint_times(random_vector(problem().n, trial)));
    }
  }

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix inverse = result();
    const double scale = magnitude_ * inverse.norm();
    Discrepancy left = discrepancy;
    Discrepancy right = discrepancy;
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector x = random_vector(problem().n, trial);
      left.add(inverse.times(products_[trial]), x, scale);
      right.add(inverse.adjoint_times(adjoint_products_[trial]), x, scale);
    }
    discrepancy.add(left.relative_error() < right.relative_error() ? left : right);
  }

 private:
  Matrix result() const {
    switch (kind().family) {
      case Family::cholesky: return triangle(Argument::a, Structure::hermitian);
      case Family::triangle:
        return triangle(Argument::a, problem().diag == 'u' ? Structure::unit_diagonal : Structure::stored);
      default: return matrix(Argument::a);
    }
  }

  double magnitude_ = 0;
  std::vector<Vector> products_;
  std::vector<Vector> adjoint_products_;
};

/// Compares products with the reflectors, from before the operation, with products with Q or C, from after it.
class OrthogonalFactor final : public Check {
 public:
  explicit OrthogonalFactor(const Operation& operation) : Check(operation) {
    const Reflectors q(operand(Argument::a), problem().scalar(), numbers(Argument::tau));
    scale_ = std::sqrt(static_cast<double>(problem().n));  // the Frobenius norm of Q
    if (kind().action == Action::multiply) scale_ = matrix(Argument::b).norm();
    for (std::size_t trial = 0; trial < trials; ++trial)
      products_.push_back(expected(q, random_vector(problem().n, trial)));
  }

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix result = matrix(kind().action == Action::multiply ? Argument::b : Argument::a);
    for (std::size_t trial = 0; trial < trials; ++trial)
      discrepancy.add(result.times(random_vector(problem().n, trial)), products_[trial], scale_);
  }

 private:
  Vector expected(const Reflectors& q, Vector x) const {
    if (kind().action == Action::generate) {
      x.resize(static_cast<std::size_t>(problem().m));
      return q.times(std::move(x));
    }
    const Matrix c = matrix(Argument::b);
    return problem().side == 'l' ? applied(q, c.times(x)) : c.times(applied(q, std::move(x)));
  }

  Vector applied(const Reflectors& q, Vector x) const {
    return problem().trans == 'n' ? q.times(std::move(x)) : q.adjoint_times(std::move(x));
  }

  double scale_ = 0;
  std::vector<Vector> products_;
};

}  // namespace

std::unique_ptr<operation::Verification> factorization(const Operation& operation) {
  return std::make_unique<Factorization>(operation);
}

std::unique_ptr<operation::Verification> solution(const Operation& operation) {
  return std::make_unique<Solution>(operation);
}

std::unique_ptr<operation::Verification> inverse(const Operation& operation) {
  return std::make_unique<Inverse>(operation);
}

std::unique_ptr<operation::Verification> orthogonal_factor(const Operation& operation) {
  return std::make_unique<OrthogonalFactor>(operation);
}

}  // namespace blastoff::lapack::check
