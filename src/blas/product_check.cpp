#include "blas/product_check.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "blas/shape.h"
#include "blas/vector_products.h"
#include "operation/amounts.h"
#include "operation/check_numbers.h"

namespace blastoff::blas {
namespace {

using check::Factor;
using check::Number;
using check::Product;
using check::Structure;
using check::Vector;
using operation::Comparison;

/// A product of matrices with a vector, applied from the right, and the product of the matrices' Frobenius norms.
class Chain {
 public:
  Chain(Vector x, Scalar scalar, platform::WorkerPool* workers)
      : vector_(std::move(x)), scalar_(scalar), workers_(workers) {}

  Chain& apply(const Factor& factor) {
    Product product = multiply(factor, vector_, scalar_, workers_);
    const bool zero = product.squares == 0 && all_zero(product.vector);
    in_range_ = in_range_ && (zero || (product.squares > min_squares && product.squares < max_squares));
    norm_ *= std::sqrt(product.squares);
    vector_ = std::move(product.vector);
    return *this;
  }

  const Vector& vector() const { return vector_; }
  double norm() const { return norm_; }
  /// Whether all squares have stayed in the range of double.
  bool in_range() const { return in_range_; }

 private:
  static constexpr double min_squares = 1e-270;
  static constexpr double max_squares = 1e270;

  static bool all_zero(const Vector& vector) {
    for (const double real : vector.reals())
      if (real != 0) return false;
    return true;
  }

  Vector vector_;
  Scalar scalar_;
  platform::WorkerPool* workers_;
  double norm_ = 1;
  bool in_range_ = true;
};

/// A sum of products of matrices, each with a factor, times one vector.
class Sum {
 public:
  Sum(std::int64_t size, bool complex) : vector_(size, complex) {}

  void add(Number factor, const Chain& chain) {
    Vector scaled = chain.vector();
    scaled.scale_and_add(factor, vector_);
    vector_ = std::move(scaled);
    norm_ += std::abs(factor) * chain.norm();
    in_range_ = in_range_ && chain.in_range();
  }

  const Vector& vector() const { return vector_; }
  double norm() const { return norm_; }
  bool in_range() const { return in_range_; }

 private:
  Vector vector_;
  double norm_ = 0;
  bool in_range_ = true;
};

Transpose adjoint(bool hermitian) {
  return hermitian ? Transpose::conjugate : Transpose::transpose;
}

/// The products with a vector that must be equal if a call's result is right.
class Equation {
 public:
  Equation(const Call& call, platform::WorkerPool* workers) : call_(call), workers_(workers) {}

  /// A, B and C as the operation sees them.
  Factor a() const {
    if (is_triangular_solve_or_product(call_.kind())) {
      const bool unit = call_.diagonal == Diagonal::unit;
      return {call_.operands()[0], unit ? Structure::unit_triangular : Structure::triangular, call_.transpose_a};
    }
    if (has_side(call_.kind()))
      return {call_.operands()[0], call_.kind() == Kind::hemm ? Structure::hermitian : Structure::symmetric};
    return {call_.operands()[0], Structure::general, call_.transpose_a};
  }
  Factor b() const { return {call_.operands()[1], Structure::general, call_.transpose_b}; }
  Factor result() const {
    if (!is_rank_update(call_.kind())) return {call_.result()};
    return {call_.result(), hermitian_update() ? Structure::hermitian : Structure::symmetric};
  }

  Chain chain(const Vector& x) const { return {x, call_.scalar(), workers_}; }

  /// Adds the product of the other operands, which the call adds to the old elements of the result.
  void add_products(Sum& sum, const Vector& x) const {
    switch (call_.kind()) {
      case Kind::gemm: return sum.add(call_.alpha, chain(x).apply(b()).apply(a()));
      case Kind::symm:
      case Kind::hemm:
        return sum.add(call_.alpha,
                       call_.side == Side::left ? chain(x).apply(b()).apply(a()) : chain(x).apply(a()).apply(b()));
      case Kind::syrk:
      case Kind::herk: return add_update(sum, call_.alpha, call_.operands()[0], call_.operands()[0], x);
      case Kind::syr2k:
      case Kind::her2k: {
        const Number second = hermitian_update() ? std::conj(call_.alpha) : call_.alpha;
        add_update(sum, call_.alpha, call_.operands()[0], call_.operands()[1], x);
        return add_update(sum, second, call_.operands()[1], call_.operands()[0], x);
      }
      default: return;  // see ProductCheck::compare() and has_product_check()
    }
  }

 private:
  bool hermitian_update() const { return call_.kind() == Kind::herk || call_.kind() == Kind::her2k; }

  /// Adds left right^T, or left^T right; for Hermitian updates with ^H.
  void add_update(Sum& sum, Number factor, const Operand& left, const Operand& right, const Vector& x) const {
    const Transpose turned = adjoint(hermitian_update());
    if (call_.transpose_a == Transpose::none)
      return sum.add(factor, chain(x).apply({right, Structure::general, turned}).apply({left}));
    sum.add(factor, chain(x).apply({right}).apply({left, Structure::general, turned}));
  }

  const Call& call_;
  platform::WorkerPool* const workers_;
};

class ProductCheck final : public operation::Verification {
 public:
  explicit ProductCheck(const Call& call)
      : call_(call),
        workers_(platform::workers_to_read(operation::payload_bytes(call.operands()))),
        x_(check::random_vector(call.result().columns, is_complex(call.scalar()), operation::next_seed())),
        before_(products_before()) {}

  Comparison compare() const override {
    const Equation equation(call_, workers_.get());
    Sum expected(call_.result().rows, is_complex(call_.scalar()));
    Sum actual(call_.result().rows, is_complex(call_.scalar()));
    const bool on_left = call_.side == Side::left;
    switch (call_.kind()) {
      case Kind::trmm: {
        Chain product = *before_;
        if (on_left) product.apply(equation.a());
        expected.add(call_.alpha, product);
        actual.add(1, equation.chain(x_).apply(equation.result()));
        break;
      }
      case Kind::trsm: {
        // A times the solution must be the right-hand side.
        expected.add(call_.alpha, *before_);
        const Factor solution = equation.result();
        actual.add(1, on_left ? equation.chain(x_).apply(solution).apply(equation.a())
                              : equation.chain(x_).apply(equation.a()).apply(solution));
        break;
      }
      default:
        equation.add_products(expected, x_);
        if (before_) expected.add(call_.beta, *before_);
        actual.add(1, equation.chain(x_).apply(equation.result()));
        break;
    }
    return difference(actual, expected);
  }

 private:
  /// The products of the vector with the result's elements before the operation.
  std::optional<Chain> products_before() const {
    const Equation equation(call_, workers_.get());
    if (!reads(call_.result().intent)) return std::nullopt;
    Chain chain = equation.chain(x_);
    if (call_.kind() == Kind::trmm && call_.side == Side::right) chain.apply(equation.a());
    chain.apply(equation.result());
    return chain;
  }

  Comparison difference(const Sum& actual, const Sum& expected) const {
    Comparison comparison;
    const double inner = static_cast<double>(call_.k) + 8;
    const double outer = std::sqrt(static_cast<double>(call_.m) + static_cast<double>(call_.n));
    comparison.bound = 8 * (inner + outer) * machine_epsilon(call_.scalar());
    // The error of a solve is relative to the product of A and the solution; the right-hand side may be much smaller.
    const double scale = call_.kind() == Kind::trsm ? actual.norm() : expected.norm();
    double squares = 0;
    double largest = -1;
    for (std::int64_t i = 0; i < actual.vector().size(); ++i) {
      const Number wanted = expected.vector()[i];
      if (!std::isfinite(wanted.real()) || !std::isfinite(wanted.imag())) return {};
      const double square = std::norm(actual.vector()[i] - wanted);
      squares += square;
      if (square <= largest) continue;
      largest = std::isnan(square) ? HUGE_VAL : square;
      comparison.row = i;
    }
    if (!expected.in_range() || scale > largest_scale() || !std::isfinite(scale)) return {};
    if (std::isfinite(squares) && !actual.in_range()) return {};
    comparison.checked = true;
    const double error = std::sqrt(squares) / (scale + min_scale());
    comparison.relative_error = std::isnan(error) ? HUGE_VAL : error;
    return comparison;
  }

  bool single() const { return call_.scalar() == Scalar::s || call_.scalar() == Scalar::c; }

  /// Elements of results with a larger scale may overflow.
  double largest_scale() const {
    return 1e-3 * (single() ? double{std::numeric_limits<float>::max()} : std::numeric_limits<double>::max());
  }
  /// Rounding errors of smaller results are absolute.
  double min_scale() const {
    const double least = single() ? double{std::numeric_limits<float>::min()} : std::numeric_limits<double>::min();
    return least * std::sqrt(static_cast<double>(call_.m) * static_cast<double>(call_.n));
  }

  Call call_;
  std::unique_ptr<platform::WorkerPool> workers_;
  Vector x_;
  std::optional<Chain> before_;
};

}  // namespace

bool has_product_check(Kind kind) {
  return kind != Kind::gemmt && !is_matrix_vector(kind) && !is_batch(kind);
}

std::unique_ptr<operation::Verification> check_by_products(const Call& call) {
  return std::make_unique<ProductCheck>(call);
}

}  // namespace blastoff::blas
