#include "lapack/check/factors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace blastoff::lapack::check {
namespace {

using operation::Operand;
using operation::Part;

std::int64_t min_side(const Operand& operand) {
  return std::min(operand.rows, operand.columns);
}

Vector undefined(const Vector& x) {
  return Vector(x.size(), std::numeric_limits<double>::quiet_NaN());
}

/// x -= tau v v^H x
void reflect(Vector& x, const Matrix::Column& v, Number tau) {
  add(x, -tau * dot(v, x), v);
}

}  // namespace

Operand lower_trapezoid(Operand operand) {
  operand.columns = min_side(operand);
  operand.part = Part::lower;
  return operand;
}

Operand upper_trapezoid(Operand operand) {
  operand.rows = min_side(operand);
  operand.part = Part::upper;
  return operand;
}

double Factored::magnitude() const {
  return spectral_norm(
      columns(), [&](const Vector& x) { return times(x); }, [&](const Vector& x) { return adjoint_times(x); });
}

PivotedLu::PivotedLu(const Operand& factors, blas::Scalar scalar, std::vector<std::int64_t> pivots)
    : lower_(lower_trapezoid(factors), scalar, Structure::unit_diagonal),
      upper_(upper_trapezoid(factors), scalar),
      pivots_(std::move(pivots)) {}

bool PivotedLu::exchange_rows(Vector& x, std::size_t step) const {
  const std::int64_t pivot = pivots_[step] - 1;
  if (pivot < 0 || pivot >= lower_.rows()) return false;
  std::swap(x[step], x[static_cast<std::size_t>(pivot)]);
  return true;
}

Vector PivotedLu::times(Vector x) const {
  x = lower_.times(upper_.times(x));
  for (std::size_t step = pivots_.size(); step-- > 0;)
    if (!exchange_rows(x, step)) return undefined(x);
  return x;
}

Vector PivotedLu::adjoint_times(Vector x) const {
  for (std::size_t step = 0; step < pivots_.size(); ++step)
    if (!exchange_rows(x, step)) return undefined(x);
  return upper_.adjoint_times(lower_.adjoint_times(x));
}

double PivotedLu::magnitude() const {
  const double of_upper = spectral_norm(
      columns(), [&](const Vector& x) { return upper_.times(x); },
      [&](const Vector& x) { return upper_.adjoint_times(x); });
  return std::max(Factored::magnitude(), of_upper);
}

Reflectors::Reflectors(const Operand& vectors, blas::Scalar scalar, Vector tau)
    : vectors_(lower_trapezoid(vectors), scalar, Structure::unit_diagonal), tau_(std::move(tau)) {}

Vector Reflectors::times(Vector x) const {
  Vector buffer;
  for (std::size_t i = tau_.size(); i-- > 0;)
    reflect(x, vectors_.column(static_cast<std::int64_t>(i), buffer), tau_[i]);
  return x;
}

Vector Reflectors::adjoint_times(Vector x) const {
  Vector buffer;
  for (std::size_t i = 0; i < tau_.size(); ++i)
    reflect(x, vectors_.column(static_cast<std::int64_t>(i), buffer), std::conj(tau_[i]));
  return x;
}

double Reflectors::departure() const {
  const std::vector<double> norms = vectors_.column_norms();
  double largest = 0;
  for (std::size_t i = 0; i < tau_.size(); ++i) {
    // H^H H - I is `factor` times v v^H.
    const double factor = std::norm(tau_[i]) * norms[i] * norms[i] - 2 * tau_[i].real();
    largest = std::max(largest, std::abs(factor) * norms[i] * norms[i]);
  }
  return largest;
}

QrFactored::QrFactored(const Operand& factors, blas::Scalar scalar, const Vector& tau)
    : rows_(static_cast<std::size_t>(factors.rows)),
      upper_(upper_trapezoid(factors), scalar),
      reflectors_(factors, scalar, tau) {}

Vector QrFactored::times(Vector x) const {
  x = upper_.times(x);
  x.resize(rows_);
  return reflectors_.times(std::move(x));
}

Vector QrFactored::adjoint_times(Vector x) const {
  x = reflectors_.adjoint_times(std::move(x));
  x.resize(static_cast<std::size_t>(upper_.rows()));
  return upper_.adjoint_times(x);
}

}  // namespace blastoff::lapack::check
