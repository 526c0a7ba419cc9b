// Least squares by QR factorization.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "lapack/check/factors.h"
#include "lapack/check/families.h"
#include "lapack/check/right_sides.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operand;
using operation::Operation;

Vector scaled(Vector x, double scale) {
  for (Number& value : x) value /= scale;
  return x;
}

/// A vector, and the vector to which Q^H should map it. Both are divided by the size to which their rounding errors are
/// proportional.
struct Image {
  Vector given;
  Vector expected;
};

/// A = Q R, and R X = the first rows of Q^H B. The routine returns the other rows of Q^H B below X. It returns the
/// reflectors of Q without their factors tau.
class LeastSquares final : public Check {
 public:
  explicit LeastSquares(const Operation& operation) : Check(operation), right_sides_(*this) {
    const Matrix a = matrix(Argument::a);
    norm_ = a.norm();
    for (std::size_t trial = 0; trial < trials; ++trial)
      products_.push_back(a.times(random_vector(problem().n, trial)));
  }

  void inspect(Discrepancy& discrepancy) const override {
    if (may_be_scaled()) return discrepancy.add(0, std::numeric_limits<double>::infinity());
    std::vector<Image> images = this->images();
    const Matrix vectors(lower_trapezoid(operand(Argument::a)), problem().scalar(), Structure::unit_diagonal);
    Vector buffer;
    for (std::int64_t k = 0; k < vectors.columns(); ++k) reflect(images, k, vectors.column(k, buffer));
    for (const Image& image : images) discrepancy.add(image.given, image.expected, 1);
  }

 private:
  /// Whether LAPACK may have scaled the matrix. Then it returns the factors of the scaled matrix.
  bool may_be_scaled() const {
    const double elements = static_cast<double>(problem().m) * static_cast<double>(problem().n);
    const double least = RightSides::min_norm(problem());
    return !(norm_ >= least * std::sqrt(elements) && norm_ <= 1 / least);
  }

  Matrix upper() const { return {upper_trapezoid(operand(Argument::a)), problem().scalar()}; }

  Matrix solutions() const {
    Operand first_rows = operand(Argument::b);
    first_rows.rows = problem().n;
    return {first_rows, problem().scalar()};
  }

  /// Q^H maps A x to R x. It maps a combination of right-hand sides to R times the combination of X, above the same
  /// combination of the other returned rows.
  std::vector<Image> images() const {
    std::vector<Image> images;
    const Matrix r = upper();
    const auto rows = static_cast<std::size_t>(problem().m);
    for (std::size_t trial = 0; trial < trials; ++trial) {
      Vector expected = r.times(random_vector(problem().n, trial));
      expected.resize(rows);
      images.push_back({scaled(products_[trial], norm_), scaled(std::move(expected), norm_)});
    }
    const double scale = right_sides_.norm() + Unfactored(upper()).magnitude() * right_sides_.norm_of(solutions());
    for (std::size_t trial = 0; trial < trials && scale > 0; ++trial) {
      Vector expected = matrix(Argument::b).times(right_sides_.combination(trial));
      const Vector first_rows = r.times(solutions().times(right_sides_.combination(trial)));
      std::copy(first_rows.begin(), first_rows.end(), expected.begin());
      images.push_back({scaled(right_sides_.before(trial), scale), scaled(std::move(expected), scale)});
    }
    return images;
  }

  /// Applies the adjoint of H = I - tau v v^H. Chooses tau so that element k of all images becomes the expected one, as
  /// far as possible: H is unitary, so |1 - tau v^H v| = 1. The accuracy of tau does not matter: where the images
  /// hardly determine it, it hardly changes them.
  static void reflect(std::vector<Image>& images, std::int64_t k, const Matrix::Column& v) {
    const auto row = static_cast<std::size_t>(k);
    Number numerator = 0;
    double denominator = 0;
    for (const Image& image : images) {
      const Number component = dot(v, image.given);
      numerator += std::conj(component) * (image.given[row] - image.expected[row]);
      denominator += std::norm(component);
    }
    if (!(denominator > 0)) return;
    double square = 0;
    for (const Number value : v.elements) square += std::norm(value);
    const Number factor = 1.0 - square * numerator / denominator;
    if (factor == 0.0) return;
    const Number tau_of_adjoint = (1.0 - factor / std::abs(factor)) / square;
    for (Image& image : images) add(image.given, -tau_of_adjoint * dot(v, image.given), v);
  }

  double norm_ = 0;
  RightSides right_sides_;
  std::vector<Vector> products_;
};

}  // namespace

std::unique_ptr<operation::Verification> least_squares(const Operation& operation) {
  return std::make_unique<LeastSquares>(operation);
}

}  // namespace blastoff::lapack::check
