// Eigenvalues and right eigenvectors of matrices without symmetry.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operation;

/// The norm of a row or column without its diagonal element. `factor(j)` scales its element j.
template <class Factor>
double off_diagonal_norm(std::span<const Number> elements, std::size_t diagonal, Factor factor) {
  std::vector<double> scaled(elements.size());
  for (std::size_t j = 0; j < elements.size(); ++j)
    if (j != diagonal) scaled[j] = std::abs(elements[j]) * factor(j);
  return norm(scaled);
}

/// What the errors of eigenvectors are relative to. LAPACK computes the eigenvectors of B = D^-1 A D, where D is
/// diagonal and balances the norms of rows and columns, and multiplies them by D. So an error of the size of B grows by
/// the ratio of the largest and the smallest element of D (D. S. Watkins, A case where balancing is harmful, ETNA 23,
/// 2006).
double balanced_scale(const Matrix& a) {
  constexpr int max_sweeps = 20;
  constexpr double worthwhile = 0.95;  // of the norms before, as in LAPACK
  const auto n = static_cast<std::size_t>(a.columns());
  std::vector<double> d(n, 1.0);
  std::vector<double> norms(n);
  Vector buffer;
  bool changed = true;
  for (int sweep = 0; changed && sweep < max_sweeps; ++sweep) {
    changed = false;
    for (std::size_t i = 0; i < n; ++i) {
      const auto index = static_cast<std::int64_t>(i);
      const Vector row_of_a = a.row(index);
      const auto column_of_a = a.column(index, buffer).elements;
      const double column = off_diagonal_norm(column_of_a, i, [&](std::size_t j) { return d[i] / d[j]; });
      const double row = off_diagonal_norm(row_of_a, i, [&](std::size_t j) { return d[j] / d[i]; });
      norms[i] = std::hypot(row, std::abs(row_of_a[i]));
      if (column == 0 || row == 0) continue;
      const double factor = std::exp2(std::round((std::log2(row) - std::log2(column)) / 2));
      if (!(std::hypot(column * factor, row / factor) < worthwhile * std::hypot(column, row))) continue;
      d[i] *= factor;
      changed = true;
    }
  }
  const auto [smallest, largest] = std::ranges::minmax(d);
  return norm(norms) * (largest / smallest);
}

/// A v = w v for a matrix without symmetry. The routine only reads A.
class GeneralEigenproblem final : public Check {
 public:
  explicit GeneralEigenproblem(const Operation& operation) : Check(operation) {}

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix a = matrix(Argument::a);
    const Vector values = eigenvalues();
    inspect_moments(a, values, discrepancy);
    if (problem().job_right != 'v') return;
    inspect_normalization(values, discrepancy);
    const double scale = std::max(a.norm(), balanced_scale(a));
    for (std::size_t trial = 0; trial < trials; ++trial) {
      Vector y = random_vector(problem().n, trial);
      const Vector image = a.times(combination(values, y));
      for (std::size_t j = 0; j < y.size(); ++j) y[j] *= values[j];
      discrepancy.add(image, combination(values, y), scale);
    }
  }

 private:
  bool complex() const { return blas::is_complex(problem().scalar()); }

  Vector eigenvalues() const {
    if (complex()) return numbers(Argument::w);
    const std::vector<double> real = reals(Argument::w);
    const std::vector<double> imaginary = reals(Argument::wi);
    Vector values(real.size());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = {real[i], imaginary[i]};
    return values;
  }

  /// Checks that the sum of the eigenvalues is about the trace of A, and the sum of their squares about the trace of A
  /// A.
  void inspect_moments(const Matrix& a, const Vector& values, Discrepancy& discrepancy) const {
    Number sum = 0;
    Number squares = 0;
    for (const Number value : values) {
      sum += value;
      squares += value * value;
    }
    discrepancy.add(std::abs(sum - a.trace()), a.norm());
    discrepancy.add(std::abs(squares - trace_of_square(a)), a.norm() * a.norm());
  }

  static Number trace_of_square(const Matrix& a) {
    Number sum = 0;
    Vector buffer;
    Vector row;
    for (std::int64_t j = 0; j < a.columns(); ++j) {
      const Matrix::Column column = a.column(j, buffer);
      row = a.row(j);
      for (std::int64_t i = 0; i < a.rows(); ++i) sum += column[i] * row[static_cast<std::size_t>(i)];
    }
    return sum;
  }

  /// Returns the eigenvector of eigenvalue j. Complex eigenvectors of a real matrix come in pairs: one column holds the
  /// real part of both, the next column the imaginary part of the first.
  Vector eigenvector(const Vector& values, std::size_t j) const {
    const Matrix v = matrix(Argument::right);
    const auto column = [&](std::size_t index) {
      Vector buffer;
      v.column(static_cast<std::int64_t>(index), buffer);
      return buffer;
    };
    Vector result = column(j);
    if (complex() || values[j].imag() == 0) return result;
    const bool first = values[j].imag() > 0;
    if (first ? j + 1 == values.size() : j == 0) return Vector(result.size());
    const Vector other = column(first ? j + 1 : j - 1);
    for (std::size_t i = 0; i < result.size(); ++i)
      result[i] = first ? Number(result[i].real(), other[i].real()) : Number(other[i].real(), -result[i].real());
    return result;
  }

  Vector combination(const Vector& values, const Vector& y) const {
    Vector sum(y.size());
    for (std::size_t j = 0; j < y.size(); ++j) {
      const Vector v = eigenvector(values, j);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += y[j] * v[i];
    }
    return sum;
  }

  /// Checks that each eigenvector has length 1 and a real largest component.
  void inspect_normalization(const Vector& values, Discrepancy& discrepancy) const {
    for (std::size_t j = 0; j < values.size(); ++j) {
      const Vector v = eigenvector(values, j);
      discrepancy.add(std::abs(norm(v) - 1), 1);
      double largest = 0;
      for (const Number value : v) largest = std::max(largest, std::abs(value));
      double imaginary = largest;
      const double nearly = largest * (1 - discrepancy.bound());
      for (const Number value : v)
        if (std::abs(value) >= nearly) imaginary = std::min(imaginary, std::abs(value.imag()));
      discrepancy.add(imaginary, 1);
    }
  }
};

}  // namespace

std::unique_ptr<operation::Verification> general_eigenproblem(const Operation& operation) {
  return std::make_unique<GeneralEigenproblem>(operation);
}

}  // namespace blastoff::lapack::check
