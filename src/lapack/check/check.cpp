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

}  // namespace blastoff::lapack::check
