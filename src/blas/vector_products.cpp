#include "blas/vector_products.h"

#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "operation/check_numbers.h"

namespace blastoff::blas::check {
namespace {

using operation::Part;
using operation::times;

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

/// A range of the matrix' columns.
struct Columns {
  std::int64_t begin;
  std::int64_t end;
};

template <class Real, bool complex>
Product multiply(const Factor& factor, const Vector& x, Columns columns) {
  const operation::Operand& matrix = factor.operand;
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

}  // namespace

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

}  // namespace blastoff::blas::check
