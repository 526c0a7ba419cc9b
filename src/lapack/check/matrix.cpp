#include "lapack/check/matrix.h"

#include <algorithm>
#include <cmath>

namespace blastoff::lapack::check {
namespace {

using operation::Part;

std::size_t at(std::int64_t index) {
  return static_cast<std::size_t>(index);
}

bool finite(Number value) {
  return std::isfinite(value.real()) && std::isfinite(value.imag());
}

/// The norm of a vector, even if squares of its elements leave the range of double.
template <class Value>
double euclidean(std::span<const Value> x) {
  constexpr double min_sum = 1e-280;
  constexpr double max_sum = 1e300;
  double sum = 0;
  for (const Value value : x) sum += std::norm(value);
  if (std::isnan(sum) || (sum > min_sum && sum < max_sum)) return std::sqrt(sum);
  double largest = 0;
  for (const Value value : x) largest = std::max(largest, std::abs(value));
  if (largest == 0 || std::isinf(largest)) return largest;
  sum = 0;
  for (const Value value : x) sum += std::norm(value / largest);
  return largest * std::sqrt(sum);
}

template <class Element>
void widen_elements(const void* address, std::span<Number> result) {
  const auto* elements = static_cast<const Element*>(address);
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = Number(elements[i]);
}

}  // namespace

void widen(const void* address, blas::Scalar scalar, std::span<Number> result) {
  switch (scalar) {
    case blas::Scalar::s: widen_elements<float>(address, result); break;
    case blas::Scalar::d: widen_elements<double>(address, result); break;
    case blas::Scalar::c: widen_elements<std::complex<float>>(address, result); break;
    case blas::Scalar::z: widen_elements<std::complex<double>>(address, result); break;
  }
}

Matrix::Matrix(const operation::Operand& operand, blas::Scalar scalar, Structure structure, Storage storage)
    : operand_(operand), scalar_(scalar), structure_(structure), storage_(storage) {}

const char* Matrix::address(std::int64_t index, std::int64_t first) const {
  const char* const base = static_cast<const char*>(operand_.address);
  if (storage_ == Storage::columns)
    return base + at(index) * operand_.stride_bytes() + at(first) * operand_.element_size;
  // lengths of the first column and of the column before this one, together
  const std::int64_t lengths = operand_.part == Part::upper ? index + 1 : 2 * rows() - index + 1;
  return base + at(index * lengths / 2) * operand_.element_size;
}

Matrix::Column Matrix::column(std::int64_t index, Vector& buffer) const {
  const std::int64_t first = operand_.part == Part::lower ? std::min(index, rows()) : 0;
  const std::int64_t last = operand_.part == Part::upper ? std::min(index + 1, rows()) : rows();
  buffer.resize(at(last - first));
  widen(address(index, first), scalar_, buffer);
  if (index < rows()) {
    Number& diagonal = buffer[at(index - first)];
    if (structure_ == Structure::unit_diagonal) diagonal = 1;
    if (structure_ == Structure::hermitian) diagonal = diagonal.real();
  }
  return {first, buffer};
}

Vector Matrix::row(std::int64_t index) const {
  Vector result(at(columns()));
  const char* element = static_cast<const char*>(operand_.address) + at(index) * operand_.element_size;
  for (std::size_t j = 0; j < result.size(); ++j)
    widen(element + j * operand_.stride_bytes(), scalar_, {&result[j], 1});
  return result;
}

Vector Matrix::times(const Vector& x) const {
  Vector y(at(rows()));
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j) {
    const Column a = column(j, buffer);
    add(y, x[at(j)], a);
    if (structure_ == Structure::hermitian) y[at(j)] += dot(a, x) - a[j] * x[at(j)];
    if (structure_ == Structure::symmetric) y[at(j)] += product(a, x) - a[j] * x[at(j)];
  }
  return y;
}

Vector Matrix::adjoint_times(const Vector& x) const {
  if (structure_ == Structure::hermitian) return times(x);
  if (structure_ == Structure::symmetric) return conjugate(times(conjugate(x)));
  Vector y(at(columns()));
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j) y[at(j)] = dot(column(j, buffer), x);
  return y;
}

Vector Matrix::solve(Vector x) const {
  Vector buffer;
  for (std::int64_t step = 0; step < columns(); ++step) {
    const std::int64_t j = operand_.part == Part::upper ? columns() - 1 - step : step;
    const Column a = column(j, buffer);
    const Number solution = x[at(j)] / a[j];
    add(x, -solution, a);
    x[at(j)] = solution;
  }
  return x;
}

Vector Matrix::adjoint_solve(Vector x) const {
  Vector buffer;
  for (std::int64_t step = 0; step < columns(); ++step) {
    const std::int64_t j = operand_.part == Part::upper ? step : columns() - 1 - step;
    const Column a = column(j, buffer);
    const Number right_side = x[at(j)];
    x[at(j)] = 0;
    x[at(j)] = (right_side - dot(a, x)) / std::conj(a[j]);
  }
  return x;
}

std::vector<double> Matrix::column_norms() const {
  std::vector<double> norms;
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j) norms.push_back(check::norm(column(j, buffer).elements));
  return norms;
}

double Matrix::norm() const {
  const double stored = check::norm(column_norms());
  const bool both = structure_ == Structure::hermitian || structure_ == Structure::symmetric;
  if (!both || stored == 0) return stored;
  Vector diagonal;
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j) diagonal.push_back(column(j, buffer)[j]);
  const double share = check::norm(diagonal) / stored;
  return stored * std::sqrt(2 - share * share);
}

Number Matrix::trace() const {
  Number sum = 0;
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j) sum += column(j, buffer)[j];
  return sum;
}

bool Matrix::finite() const {
  Vector buffer;
  for (std::int64_t j = 0; j < columns(); ++j)
    for (const Number value : column(j, buffer).elements)
      if (!check::finite(value)) return false;
  return true;
}

Number dot(const Matrix::Column& x, const Vector& y) {
  Number sum = 0;
  for (std::int64_t i = x.first; i < x.last(); ++i) sum += std::conj(x[i]) * y[at(i)];
  return sum;
}

Number product(const Matrix::Column& x, const Vector& y) {
  Number sum = 0;
  for (std::int64_t i = x.first; i < x.last(); ++i) sum += x[i] * y[at(i)];
  return sum;
}

void add(Vector& y, Number factor, const Matrix::Column& x) {
  for (std::int64_t i = x.first; i < x.last(); ++i) y[at(i)] += factor * x[i];
}

double norm(std::span<const Number> x) {
  return euclidean(x);
}

double norm(std::span<const double> x) {
  return euclidean(x);
}

double normalize(Vector& x) {
  const double length = norm(x);
  if (length > 0)
    for (Number& value : x) value /= length;
  return length;
}

Vector product(std::span<const double> factors, Vector x) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factors[i];
  return x;
}

Vector conjugate(Vector x) {
  for (Number& value : x) value = std::conj(value);
  return x;
}

}  // namespace blastoff::lapack::check
