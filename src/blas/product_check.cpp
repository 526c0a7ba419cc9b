#include "blas/product_check.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <span>
#include <utility>
#include <vector>

#include "blas/shape.h"
#include "platform/threads.h"
#include "platform/worker_pool.h"

namespace blastoff::blas {
namespace {

using operation::Comparison;
using Number = std::complex<double>;

/// A vector of real numbers, or of complex numbers as real and imaginary parts in turn. (For a product of two
/// std::complex, compilers emit a call that handles NaN.)
class Vector {
 public:
  Vector(std::int64_t size, bool complex)
      : width_(complex ? 2 : 1), reals_(static_cast<std::size_t>(size) * static_cast<std::size_t>(width_)) {}

  double* at(std::int64_t i) { return reals_.data() + i * width_; }
  const double* at(std::int64_t i) const { return reals_.data() + i * width_; }
  Number operator[](std::int64_t i) const { return {at(i)[0], width_ == 2 ? at(i)[1] : 0}; }
  std::int64_t size() const { return static_cast<std::int64_t>(reals_.size()) / width_; }
  std::span<const double> reals() const { return reals_; }

  void add(std::int64_t i, Number value) {
    at(i)[0] += value.real();
    if (width_ == 2) at(i)[1] += value.imag();
  }
  /// this = factor this + other
  void scale_and_add(Number factor, const Vector& other) {
    for (std::int64_t i = 0; i < size(); ++i) {
      const Number value = (*this)[i];
      at(i)[0] = factor.real() * value.real() - factor.imag() * value.imag();
      if (width_ == 2) at(i)[1] = factor.real() * value.imag() + factor.imag() * value.real();
      add(i, other[i]);
    }
  }

 private:
  std::int64_t width_;
  std::vector<double> reals_;
};

/// Returns independent entries of either sign with mean square 1, and none near 0. If a matrix has an error, its
/// product with this vector has an error of about its Frobenius norm.
Vector random_vector(std::int64_t size, bool complex, std::uint64_t seed) {
  std::mt19937_64 engine(seed);
  Vector result(size, complex);
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint64_t bits = engine();
    const double magnitude = 0.5 + 0.9271 * static_cast<double>(bits >> 11) * 0x1p-53;
    *result.at(i) = (bits & 1U) != 0 ? magnitude : -magnitude;
  }
  return result;
}

/// What the elements of an operand represent.
enum class Structure : std::uint8_t { general, triangular, unit_triangular, symmetric, hermitian };

struct Factor {
  Operand operand;
  Structure structure = Structure::general;
  Transpose transpose = Transpose::none;  ///< for general and triangular matrices
};

/// Products with `count` elements of one column, beginning at `a`. Both functions add the squares of the elements'
/// magnitudes to `squares`.
template <class Real, bool complex>
struct Elements {
  static constexpr std::size_t lanes = 4;  // independent sums, so that additions need not wait for each other
  static constexpr std::size_t width = complex ? 2 : 1;
  const Real* a;
  std::int64_t count;

  std::size_t reals() const { return static_cast<std::size_t>(count) * width; }

  static double total(const std::array<double, lanes>& sums) { return (sums[0] + sums[1]) + (sums[2] + sums[3]); }

  /// y += a x
  void add_times(Number x, double* y, double& squares) const {
    std::array<double, lanes> sums{};
    std::size_t i = 0;
    for (; i + lanes <= reals(); i += lanes)
      for (std::size_t lane = 0; lane < lanes; ++lane) sums[lane] += square(a[i + lane]);
    for (; i < reals(); ++i) sums[0] += square(a[i]);
    squares += total(sums);
    for (std::size_t at = 0; at < reals(); at += width) {
      const auto real = static_cast<double>(a[at]);
      if constexpr (complex) {
        const auto imaginary = static_cast<double>(a[at + 1]);
        y[at] += real * x.real() - imaginary * x.imag();
        y[at + 1] += real * x.imag() + imaginary * x.real();
      } else {
        y[at] += real * x.real();
      }
    }
  }

  /// a^T x, or a^H x
  Number dot(const double* x, bool conjugated, double& squares) const {
    std::array<double, lanes> magnitudes{};
    std::array<double, lanes> sums{};
    if constexpr (complex) {
      for (std::size_t at = 0; at < reals(); at += 2) {
        const auto real = static_cast<double>(a[at]);
        const auto imaginary = static_cast<double>(a[at + 1]);
        sums[0] += real * x[at];
        sums[1] += imaginary * x[at + 1];
        sums[2] += real * x[at + 1];
        sums[3] += imaginary * x[at];
        magnitudes[0] += real * real;
        magnitudes[1] += imaginary * imaginary;
      }
      squares += total(magnitudes);
      const double sign = conjugated ? 1 : -1;
      return {sums[0] + sign * sums[1], sums[2] - sign * sums[3]};
    } else {
      std::size_t i = 0;
      for (; i + lanes <= reals(); i += lanes) {
        for (std::size_t lane = 0; lane < lanes; ++lane) {
          const auto value = static_cast<double>(a[i + lane]);
          sums[lane] += value * x[i + lane];
          magnitudes[lane] += value * value;
        }
      }
      for (; i < reals(); ++i) {
        sums[0] += static_cast<double>(a[i]) * x[i];
        magnitudes[0] += square(a[i]);
      }
      squares += total(magnitudes);
      return total(sums);
    }
  }

  static double square(Real value) { return static_cast<double>(value) * static_cast<double>(value); }
};

Number times(Number a, Number b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

struct Product {
  Vector vector;
  double squares = 0;  ///< sum of the squared magnitudes of the matrix' elements

  void add(const Product& other) {
    vector.scale_and_add(1, other.vector);
    squares += other.squares;
  }
};

/// A range of the matrix' columns.
struct Columns {
  std::int64_t begin;
  std::int64_t end;
};

template <class Real, bool complex>
Product multiply(const Factor& factor, const Vector& x, Columns columns) {
  const Operand& matrix = factor.operand;
  const bool transposed = factor.transpose != Transpose::none;
  const bool conjugated = factor.transpose == Transpose::conjugate;
  const bool reflected = factor.structure == Structure::symmetric || factor.structure == Structure::hermitian;
  Product result{Vector(transposed ? matrix.columns : matrix.rows, complex)};
  Vector& y = result.vector;
  for (std::int64_t j = columns.begin; j < columns.end; ++j) {
    const auto* const column = reinterpret_cast<const Real*>(static_cast<const char*>(matrix.address) +
                                                             static_cast<std::size_t>(j) * matrix.stride_bytes());
    std::int64_t first = 0;
    std::int64_t last = matrix.rows;
    if (factor.structure != Structure::general) {
      // The diagonal first; then the rest of the triangle.
      Number diagonal(static_cast<double>(column[j * (complex ? 2 : 1)]));
      if constexpr (complex) diagonal.imag(static_cast<double>(column[2 * j + 1]));
      if (factor.structure == Structure::hermitian) diagonal.imag(0);
      if (factor.structure == Structure::unit_triangular) diagonal = 1;
      result.squares += std::norm(diagonal);
      y.add(j, times(conjugated ? std::conj(diagonal) : diagonal, x[j]));
      first = matrix.part == Part::lower ? j + 1 : 0;
      last = matrix.part == Part::lower ? matrix.rows : j;
    }
    const Elements<Real, complex> elements{column + first * (complex ? 2 : 1), last - first};
    if (!transposed) elements.add_times(x[j], y.at(first), result.squares);
    if (transposed || reflected)
      y.add(j, elements.dot(x.at(first), conjugated || factor.structure == Structure::hermitian, result.squares));
  }
  return result;
}

Product multiply(const Factor& factor, const Vector& x, Scalar scalar, Columns columns) {
  switch (scalar) {
    case Scalar::s: return multiply<float, false>(factor, x, columns);
    case Scalar::d: return multiply<double, false>(factor, x, columns);
    case Scalar::c: return multiply<float, true>(factor, x, columns);
    case Scalar::z: return multiply<double, true>(factor, x, columns);
  }
  return {Vector(0, false)};
}

/// One thread reads matrices at some 5 GB/s, a node at ten times that rate.
constexpr std::size_t bytes_per_thread = std::size_t{4} << 20;
constexpr int max_threads = 8;

/// Returns nullptr if the calling thread should read the matrices alone.
std::unique_ptr<platform::WorkerPool> workers_for(const Call& call) {
  std::size_t bytes = 0;
  for (const Operand& operand : call.operands()) bytes += operand.payload_bytes();
  const auto useful = static_cast<int>(std::min<std::size_t>(max_threads, bytes / bytes_per_thread));
  const int threads = std::min(useful, platform::cpu_count());
  return threads > 1 ? platform::create_worker_pool(threads - 1) : nullptr;
}

Product multiply(const Factor& factor, const Vector& x, Scalar scalar, platform::WorkerPool* workers) {
  const std::int64_t all = factor.operand.columns;
  const std::int64_t shares = workers == nullptr ? 1 : std::clamp<std::int64_t>(all, 1, workers->workers() + 1);
  if (shares == 1) return multiply(factor, x, scalar, {0, all});
  std::vector<std::optional<Product>> products(static_cast<std::size_t>(shares));
  workers->run(products.size(), [&](std::size_t share) {
    const auto i = static_cast<std::int64_t>(share);
    products[share] = multiply(factor, x, scalar, {i * all / shares, (i + 1) * all / shares});
  });
  Product sum = std::move(*products[0]);
  for (std::size_t share = 1; share < products.size(); ++share) sum.add(*products[share]);
  return sum;
}

/// A product of matrices with a vector, applied from the right, and the product of the matrices' Frobenius norms.
class Chain {
 public:
  Chain(Vector x, Scalar scalar, platform::WorkerPool* workers)
      : vector_(std::move(x)), scalar_(scalar), workers_(workers) {}

  Chain& apply(const Factor& factor) {
    Product product = multiply(factor, vector_, scalar_, workers_);
    const bool zero = product.squares == 0 && all_zero(product.vector);
    in_range_ = in_range_ && (zero || (product.squares > least && product.squares < most));
    norm_ *= std::sqrt(product.squares);
    vector_ = std::move(product.vector);
    return *this;
  }

  const Vector& vector() const { return vector_; }
  double norm() const { return norm_; }
  /// Whether all squares have stayed in the range of double.
  bool in_range() const { return in_range_; }

 private:
  static constexpr double least = 1e-270;
  static constexpr double most = 1e270;

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

std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> seed{1};
  return seed.fetch_add(1, std::memory_order_relaxed);
}

class ProductCheck final : public operation::Verification {
 public:
  explicit ProductCheck(const Call& call)
      : call_(call),
        workers_(workers_for(call)),
        x_(random_vector(call.result().columns, is_complex(call.scalar()), next_seed())),
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
