// Norms: the largest element, sums of columns or rows, the root of all squares.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;
using Quantity = NormKernel::Quantity;

constexpr double negligible = 1e-100;  // of the largest number: squares of less might vanish

/// The numbers of each column or row, which are several if the matrix is long, become one.
std::vector<double> sums(const std::vector<double>& parts, std::int64_t lines) {
  std::vector<double> result(static_cast<std::size_t>(lines));
  for (std::size_t i = 0; i < parts.size(); ++i) result[i % result.size()] += parts[i];
  return result;
}

class Norm {
 public:
  /// `scale` is a power of two by which no element is larger than 1.
  Norm(const Task& task, double scale) : task_(task), a_(task.matrix(Argument::a)), scale_(scale) {}

  Result<double> compute() const {
    switch (task_.problem.job) {
      case 'm': return largest();
      case '1':
      case 'o': return triangular() ? largest_of_lines() : largest_sum(false);
      case 'i': return triangular() ? largest_of_lines() : largest_sum(true);
      default: return root_of_squares();
    }
  }

 private:
  bool triangular() const { return a_.part != operation::Part::full; }

  Result<std::vector<double>> reduce(NormKernel::Reduction reduction) const {
    reduction.scale = scale_;
    reduction.real_diagonal = triangular();
    return task_.solver.reduce(a_, task_.problem.scalar(), reduction);
  }

  Result<double> largest() const {
    return reduce({.quantity = Quantity::largest_magnitude}).map([](const std::vector<double>& parts) {
      return *std::max_element(parts.begin(), parts.end());
    });
  }

  Result<double> largest_sum(bool rows) const {
    return reduce({.rows = rows}).map([&](const std::vector<double>& parts) {
      const std::vector<double> all = sums(parts, rows ? a_.rows : a_.columns);
      return *std::max_element(all.begin(), all.end());
    });
  }

  /// A column of a symmetric matrix has the elements of one column and of one row of the triangle.
  Result<double> largest_of_lines() const {
    const auto columns = reduce({});
    if (!columns) return tl::unexpected(columns.error());
    const auto rows = reduce({.rows = true, .on_diagonal = 0});
    if (!rows) return tl::unexpected(rows.error());
    std::vector<double> all = sums(*columns, a_.columns);
    const std::vector<double> others = sums(*rows, a_.rows);
    std::transform(all.begin(), all.end(), others.begin(), all.begin(), std::plus<>());
    return *std::max_element(all.begin(), all.end());
  }

  Result<double> root_of_squares() const {
    return reduce({.quantity = Quantity::squares, .beside = triangular() ? 2.0 : 1.0})
        .map([](const std::vector<double>& parts) {
          return std::sqrt(std::accumulate(parts.begin(), parts.end(), 0.0));
        });
  }

  const Task& task_;
  const Operand a_;
  const double scale_;
};

}  // namespace

// LAPACK's Frobenius norm neither overflows nor vanishes if the result is a number. So all elements are scaled by the
// power of two that makes the largest one of about 1. The original makes calls with NaN and infinity.
Status run_norm(const Task& task) {
  const Operand a = task.matrix(Argument::a);
  const auto largest = task.solver.largest_magnitude({&a, 1}, task.problem.scalar());
  if (!largest) return tl::unexpected(largest.error());
  if (!std::isfinite(*largest)) return tl::unexpected(Error{ErrorKind::failed, "the matrix holds NaN or infinity"});
  if (*largest == 0) return {};
  constexpr int max_exponent = 1000;  // of a power whose inverse is a number, too
  const int exponent = std::clamp(std::ilogb(*largest) + 1, -max_exponent, max_exponent);
  const auto norm = Norm(task, std::ldexp(1.0, -exponent)).compute();
  if (!norm) return tl::unexpected(norm.error());
  const double result = std::ldexp(*norm, exponent);
  const bool fits =
      task.problem.real_bytes() == sizeof(double) ? std::isfinite(result) : std::isfinite(static_cast<float>(result));
  if (!fits || *norm < negligible)
    return tl::unexpected(Error{ErrorKind::failed, "the norm is too large or too small"});
  task.results.set_value(result);
  return {};
}

}  // namespace blastoff::device::gpu::cuda
