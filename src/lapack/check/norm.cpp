// The check of norms: they are computed again, in a wider format.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <vector>

#include "lapack/check/check.h"
#include "lapack/check/families.h"

namespace blastoff::lapack::check {
namespace {

// The squares of all doubles fit a long double.
class Norm final : public operation::Verification {
 public:
  explicit Norm(const operation::Operation& operation)
      : operation_(operation),
        problem_(operation.payload<Problem>()),
        matrix_(operation.operands().front(), problem_.scalar()) {}

  operation::Comparison compare() const override {
    const auto expected = static_cast<double>(reference());
    const double found = value();
    const double order = static_cast<double>(std::max(problem_.m, problem_.n) + 8);
    const double bound = kind_row(problem_).tolerance * order * blas::machine_epsilon(problem_.scalar());
    const bool overflows = problem_.real_bytes() == sizeof(float) && expected > std::numeric_limits<float>::max();
    if (!std::isfinite(expected) || overflows)
      return {.checked = true, .relative_error = std::isfinite(found) ? 1.0 : 0.0, .bound = bound};
    if (found == expected) return {.checked = true, .bound = bound};
    const double error = std::abs(found - expected) / expected;
    return {.checked = true, .relative_error = std::isnan(error) ? 1.0 : error, .bound = bound};
  }

 private:
  double value() const {
    const void* const address = operation_.vectors()[value_index(problem_.routine)].address;
    double wide = 0;
    float narrow = 0;
    if (problem_.real_bytes() == sizeof wide) {
      std::memcpy(&wide, address, sizeof wide);
      return wide;
    }
    std::memcpy(&narrow, address, sizeof narrow);
    return static_cast<double>(narrow);
  }

  bool is_triangle() const { return matrix_part() != operation::Part::full; }
  operation::Part matrix_part() const { return operation_.operands().front().part; }

  long double reference() const {
    std::vector<long double> columns(static_cast<std::size_t>(problem_.n));
    std::vector<long double> rows(static_cast<std::size_t>(problem_.m));
    long double largest = 0;
    long double squares = 0;
    long double unordered = 0;  // becomes NaN with the first NaN
    Vector buffer;
    for (std::int64_t j = 0; j < problem_.n; ++j) {
      const Matrix::Column column = matrix_.column(j, buffer);
      for (std::int64_t i = column.first; i < column.last(); ++i) {
        const bool real = i == j && is_triangle();
        const auto element = real ? std::complex<long double>(column[i].real()) : std::complex<long double>(column[i]);
        const long double magnitude = std::abs(element);
        unordered += 0 * magnitude;
        largest = std::max(largest, magnitude);
        const bool twice = is_triangle() && i != j;
        squares += (twice ? 2 : 1) * magnitude * magnitude;
        columns[static_cast<std::size_t>(j)] += magnitude;
        rows[static_cast<std::size_t>(i)] += magnitude;
        if (!twice) continue;
        columns[static_cast<std::size_t>(i)] += magnitude;
      }
    }
    if (std::isnan(unordered)) return unordered;
    switch (problem_.job) {
      case 'm': return largest;
      case '1':
      case 'o': return *std::max_element(columns.begin(), columns.end());
      case 'i': {
        const auto& sums = is_triangle() ? columns : rows;
        return *std::max_element(sums.begin(), sums.end());
      }
      default: return std::sqrt(squares);
    }
  }

  const operation::Operation operation_;
  const Problem problem_;
  const Matrix matrix_;
};

}  // namespace

std::unique_ptr<operation::Verification> norm(const operation::Operation& operation) {
  return std::make_unique<Norm>(operation);
}

}  // namespace blastoff::lapack::check
