#include "lapack/check/check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "blas/integer.h"
#include "lapack/cholesky_series.h"

namespace blastoff::lapack::check {
namespace {

using operation::Operand;
using operation::Part;

/// This is added to the order, so that the bound of a small problem is not too tight.
constexpr double min_order = 8;

double bound(const Problem& problem) {
  const auto order = static_cast<double>(std::max(problem.m, problem.n));
  return kind_row(problem).tolerance * (order + min_order) * blas::machine_epsilon(problem.scalar());
}

}  // namespace

Vector random_vector(std::int64_t size, std::size_t trial) {
  constexpr double least = 0.5;
  const double most = (std::sqrt(45.0) - 1) / 4;  // with entries between these limits, the mean square is 1
  std::mt19937_64 engine(trial + 1);
  Vector result(static_cast<std::size_t>(size));
  for (Number& entry : result) {
    const std::uint64_t bits = engine();
    const double fraction = static_cast<double>(bits >> 11) * 0x1p-53;
    const double magnitude = least + (most - least) * fraction;
    entry = (bits & 1) != 0 ? magnitude : -magnitude;
  }
  return result;
}

void Discrepancy::add(double error, double scale, std::int64_t row) {
  if (std::isinf(scale)) {
    comparison_.checked = false;
    return;
  }
  const double relative = error == 0 ? 0 : error / scale;
  if (std::isnan(relative)) return fail();
  if (relative <= comparison_.relative_error) return;
  comparison_.relative_error = relative;
  comparison_.row = row;
}

void Discrepancy::add(const Vector& actual, const Vector& expected, double scale) {
  Vector difference(actual.size());
  std::size_t row = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    difference[i] = actual[i] - expected[i];
    if (std::abs(difference[i]) > std::abs(difference[row])) row = i;
  }
  add(norm(difference), scale, static_cast<std::int64_t>(row));
}

operation::Comparison Discrepancy::comparison() const {
  operation::Comparison result = comparison_;
  result.checked = result.checked || result.relative_error > result.bound;
  return result;
}

void Discrepancy::fail() {
  comparison_.relative_error = std::numeric_limits<double>::infinity();
}

void Discrepancy::add(const Discrepancy& other) {
  comparison_.checked = comparison_.checked && other.comparison_.checked;
  if (other.relative_error() <= relative_error()) return;
  comparison_.relative_error = other.comparison_.relative_error;
  comparison_.row = other.comparison_.row;
}

Check::Check(const operation::Operation& operation) : operation_(operation), problem_(operation.payload<Problem>()) {}

const KindRow& Check::kind() const {
  return kind_row(problem_);
}

operation::Comparison Check::compare() const {
  if (is_cholesky(operation_) && info_of(operation_) != 0) return {};  // factored block by block, up to one of them
  Discrepancy discrepancy(bound(problem_));
  if (results_finite()) {
    inspect(discrepancy);
  } else {
    discrepancy.fail();
  }
  return discrepancy.comparison();
}

bool Check::results_finite() const {
  const ArgumentList& arguments = argument_list(problem_.routine);
  for (const Argument argument : arguments) {
    if (!is_matrix(argument)) continue;
    const Operand operand = this->operand(argument);
    const bool unit = problem_.diag == 'u' && operand.part != Part::full;
    const Structure structure = unit ? Structure::unit_diagonal : Structure::stored;
    if (operation::writes(operand.intent) && !Matrix(operand, problem_.scalar(), structure).finite()) return false;
  }
  const auto finite = [](const auto& values) {
    return std::all_of(values.begin(), values.end(), [](auto value) { return std::isfinite(std::abs(value)); });
  };
  return (!arguments.has(Argument::tau) || finite(numbers(Argument::tau))) &&
         (!arguments.has(Argument::w) || finite(reals(Argument::w))) &&
         (!arguments.has(Argument::wi) || finite(reals(Argument::wi)));
}

Operand Check::operand(Argument argument) const {
  if (argument != Argument::z || !has_eigenvectors_afterwards(problem_))
    return operation_.operands()[operand_index(problem_.routine, argument)];
  return {.address = operation_.vectors()[eigenvectors_index(problem_.routine)].address,
          .rows = problem_.n,
          .columns = found(),
          .leading_dimension = problem_.ldz,
          .element_size = problem_.element_bytes(),
          .intent = operation::Intent::write};
}

std::int64_t Check::found() const {
  if (!problem_.counts_afterwards()) return problem_.eigenvalues();
  return std::clamp<std::int64_t>(integers(Argument::found).front(), 0, problem_.n);
}

Matrix Check::matrix(Argument argument, Structure structure) const {
  return {operand(argument), problem_.scalar(), structure};
}

Matrix Check::triangle(Argument argument, Structure structure) const {
  Operand stored = operand(argument);
  stored.part = problem_.upper() ? Part::upper : Part::lower;
  if (!problem_.packed()) return {stored, problem_.scalar(), structure};
  stored.rows = stored.columns = problem_.n;
  return {stored, problem_.scalar(), structure, Storage::packed};
}

operation::HostVector Check::vector(Argument argument) const {
  operation::HostVector vector = operation_.vectors()[vector_index(problem_.routine, argument)];
  if (argument == Argument::w) vector.bytes = result_bytes(problem_, argument, found());
  return vector;
}

std::vector<std::int64_t> Check::integers(Argument argument) const {
  return integers_of(problem_, vector(argument));
}

std::vector<std::int64_t> integers_of(const Problem& problem, const operation::HostVector& stored) {
  std::vector<std::int64_t> result(stored.bytes / problem.integer_bytes);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const char* at = static_cast<const char*>(stored.address) + i * problem.integer_bytes;
    result[i] = blas::integer_at(at, problem.integer_bytes);
  }
  return result;
}

Vector Check::numbers(Argument argument) const {
  const operation::HostVector stored = vector(argument);
  Vector result(stored.bytes / problem_.element_bytes());
  widen(stored.address, problem_.scalar(), result);
  return result;
}

std::vector<double> Check::reals(Argument argument) const {
  const operation::HostVector stored = vector(argument);
  Vector wide(stored.bytes / problem_.real_bytes());
  widen(stored.address, problem_.real_bytes() == sizeof(float) ? blas::Scalar::s : blas::Scalar::d, wide);
  std::vector<double> result(wide.size());
  std::transform(wide.begin(), wide.end(), result.begin(), [](Number value) { return value.real(); });
  return result;
}

Copy::Copy(const Operand& operand)
    : operand_(operand), elements_(std::make_unique_for_overwrite<char[]>(operand.payload_bytes())) {
  operand_.address = elements_.get();
  operand_.leading_dimension = std::max<std::int64_t>(1, operand.rows);
  for (std::int64_t j = 0; j < operand.columns; ++j) {
    const std::int64_t first = operand.part == Part::lower ? std::min(j, operand.rows) : 0;
    const std::int64_t last = operand.part == Part::upper ? std::min(j + 1, operand.rows) : operand.rows;
    const std::size_t skip = static_cast<std::size_t>(first) * operand.element_size;
    const auto column = static_cast<std::size_t>(j);
    std::memcpy(elements_.get() + column * operand_.stride_bytes() + skip,
                static_cast<const char*>(operand.address) + column * operand.stride_bytes() + skip,
                static_cast<std::size_t>(last - first) * operand.element_size);
  }
}

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
