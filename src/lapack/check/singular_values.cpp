// Singular value decompositions.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operation;

/// A = U S VT, where the routine only reads A. U and VT are whole, or have as many vectors as there are singular
/// values. If only one of them was computed: A A^H U = U S S, or A^H A V = V S S.
class SingularValues final : public Check {
 public:
  explicit SingularValues(const Operation& operation) : Check(operation) {}

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix a = matrix(Argument::a);
    const double norm_of_a = a.norm();
    const std::vector<double> values = reals(Argument::w);
    inspect_order(values, norm_of_a, discrepancy);
    discrepancy.add(std::abs(norm(values) - norm_of_a), norm_of_a);
    if (norm_of_a == 0) return;
    const Matrix u = matrix(Argument::z);
    const Matrix vt = matrix(Argument::right);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      inspect_orthogonality(u, vt, trial, discrepancy);
      if (problem().job != 'n' && problem().job_right != 'n') {
        const Vector x = random_vector(problem().n, trial);
        discrepancy.add(u.times(stretched(values, vt.times(x), u.columns())), a.times(x), norm_of_a);
      } else if (problem().job != 'n') {
        const Vector y = random_vector(u.columns(), trial);
        const Vector image = divided(a.adjoint_times(u.times(y)), norm_of_a);
        discrepancy.add(a.times(image), u.times(stretched_twice(values, y, norm_of_a)), norm_of_a);
      } else if (problem().job_right != 'n') {
        const Vector y = random_vector(vt.rows(), trial);
        const Vector image = divided(a.times(vt.adjoint_times(y)), norm_of_a);
        discrepancy.add(a.adjoint_times(image), vt.adjoint_times(stretched_twice(values, y, norm_of_a)), norm_of_a);
      }
    }
  }

 private:
  /// Checks that the values are descending, and none is negative.
  static void inspect_order(const std::vector<double>& values, double norm, Discrepancy& discrepancy) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double next = i + 1 < values.size() ? values[i + 1] : 0;
      discrepancy.add(std::max(0.0, next - values[i]), norm, static_cast<std::int64_t>(i));
    }
  }

  /// Returns S x, with `size` elements.
  static Vector stretched(const std::vector<double>& values, Vector x, std::int64_t size) {
    x.resize(values.size());
    x = product(values, std::move(x));
    x.resize(static_cast<std::size_t>(size));
    return x;
  }

  /// S S x / norm
  static Vector stretched_twice(const std::vector<double>& values, const Vector& x, double norm) {
    const auto size = static_cast<std::int64_t>(x.size());
    return stretched(values, divided(stretched(values, x, size), norm), size);
  }

  static Vector divided(Vector x, double divisor) {
    for (Number& value : x) value /= divisor;
    return x;
  }

  static void inspect_orthogonality(const Matrix& u, const Matrix& vt, std::size_t trial, Discrepancy& discrepancy) {
    const Vector left = random_vector(u.columns(), trial);
    discrepancy.add(u.adjoint_times(u.times(left)), left, std::sqrt(static_cast<double>(u.columns())));
    const Vector right = random_vector(vt.rows(), trial);
    discrepancy.add(vt.times(vt.adjoint_times(right)), right, std::sqrt(static_cast<double>(vt.rows())));
  }
};

}  // namespace

std::unique_ptr<operation::Verification> singular_values(const Operation& operation) {
  return std::make_unique<SingularValues>(operation);
}

}  // namespace blastoff::lapack::check
