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

PivotedLdl::PivotedLdl(const Matrix& triangle, bool upper, const std::vector<std::int64_t>& pivots)
    : triangle_(triangle), upper_(upper) {
  const auto n = static_cast<std::int64_t>(pivots.size());
  const auto pivot = [&](std::int64_t row) { return pivots[static_cast<std::size_t>(row)]; };
  std::int64_t left =
      n;  // rows that no step has eliminated: the first ones of an upper, the last ones of a lower triangle
  while (left > 0 && valid_) {
    const std::int64_t row = upper ? left - 1 : n - left;
    const std::int64_t size = pivot(row) > 0 ? 1 : 2;
    const std::int64_t partner = size == 1 ? pivot(row) - 1 : -pivot(row) - 1;
    const std::int64_t other = upper ? row - 1 : row + 1;  // of a block of two, the row that is exchanged
    const std::int64_t exchanged = size == 1 ? row : other;
    valid_ = size <= left && (size == 1 || pivot(other) == pivot(row)) &&
             (upper ? partner >= 0 && partner <= exchanged : partner < n && partner >= exchanged);
    steps_.push_back({size == 2 && upper ? other : row, size, exchanged, partner});
    left -= size;
  }
}

Matrix::Column PivotedLdl::multipliers(const Step& step, std::int64_t column, Vector& buffer) const {
  const Matrix::Column stored = triangle_.column(column, buffer);
  if (upper_) return {0, stored.elements.first(static_cast<std::size_t>(step.first))};
  const std::int64_t first = step.first + step.size;
  return {first, stored.elements.subspan(static_cast<std::size_t>(first - stored.first))};
}

void PivotedLdl::times_block(const Step& step, Vector& x) const {
  Vector buffer;
  Number& first = x[static_cast<std::size_t>(step.first)];
  const Number diagonal = triangle_.column(step.first, buffer)[step.first];
  if (step.size == 1) {
    first *= diagonal;
    return;
  }
  Number& second = x[static_cast<std::size_t>(step.first + 1)];
  const Number beside =
      triangle_.column(upper_ ? step.first + 1 : step.first, buffer)[upper_ ? step.first : step.first + 1];
  const Number last = triangle_.column(step.first + 1, buffer)[step.first + 1];
  const Number kept = first;
  first = diagonal * first + beside * second;
  second = beside * kept + last * second;
}

Vector PivotedLdl::times(Vector x) const {
  if (!valid_) return undefined(x);
  Vector buffer;
  const auto exchange = [&](const Step& step) {
    std::swap(x[static_cast<std::size_t>(step.row)], x[static_cast<std::size_t>(step.partner)]);
  };
  for (const Step& step : steps_) {
    exchange(step);
    for (std::int64_t column = step.first; column < step.first + step.size; ++column)
      x[static_cast<std::size_t>(column)] += product(multipliers(step, column, buffer), x);
  }
  for (const Step& step : steps_) times_block(step, x);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    for (std::int64_t column = step->first; column < step->first + step->size; ++column)
      add(x, x[static_cast<std::size_t>(column)], multipliers(*step, column, buffer));
    exchange(*step);
  }
  return x;
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
