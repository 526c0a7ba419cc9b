// Singular value decompositions.
#include <algorithm>
#include <cmath>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operation;

/// A = U S VT, where A is only read. U and VT are whole or have as many vectors as there are singular values.
class SingularValues final : public Check {
 public:
  explicit SingularValues(const Operation& operation) : Check(operation) {}

  void inspect(Discrepancy& discrepancy) const override {
    const Matrix a = matrix(Argument::a);
    const double norm_of_a = a.norm();
    const std::vector<double> values = reals(Argument::w);
    inspect_order(values, norm_of_a, discrepancy);
    discrepancy.add(std::abs(norm(values) - norm_of_a), norm_of_a);
    if (problem().job == 'n') return;
    const Matrix u = matrix(Argument::z);
    const Matrix vt = matrix(Argument::right);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      const Vector x = random_vector(problem().n, trial);
      Vector components = vt.times(x);
      components.resize(values.size());
      components = product(values, components);
      components.resize(static_cast<std::size_t>(u.columns()));
      discrepancy.add(u.times(components), a.times(x), norm_of_a);
      inspect_orthogonality(u, vt, trial, discrepancy);
    }
  }

 private:
  /// Descending, none negative.
  static void inspect_order(const std::vector<double>& values, double norm, Discrepancy& discrepancy) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double next = i + 1 < values.size() ? values[i + 1] : 0;
      discrepancy.add(std::max(0.0, next - values[i]), norm, static_cast<std::int64_t>(i));
    }
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
