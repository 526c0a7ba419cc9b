// Least squares by QR factorization.
#include <algorithm>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// ErrorKind::failed if the triangle may have a zero on its diagonal, which LAPACK reports. If the matrix lacks rank,
/// rounding errors decide whether there is one, and no solution is meaningful. So LAPACK has to decide.
Status check_rank(const Task& task, const Operand& triangle) {
  constexpr double margin = 100;
  const auto diagonal = diagonal_magnitudes(task, triangle);
  if (!diagonal) return tl::unexpected(diagonal.error());
  const auto [least, largest] = std::minmax_element(diagonal->begin(), diagonal->end());
  if (*least > margin * blas::machine_epsilon(task.problem.scalar()) * *largest) return {};
  return tl::unexpected(Error{ErrorKind::failed, "the matrix has not full rank, or nearly not"});
}

}  // namespace

Status run_least_squares(const Task& task) {
  if (auto ok = task.require_32_bits(); !ok) return ok;
  Operand triangle = task.matrix(Argument::a);
  const auto tau = factor_orthogonal(task, triangle);
  if (!tau) return tl::unexpected(tau.error());
  const Operand reflectors = triangle;
  triangle.rows = triangle.columns;
  triangle.part = operation::Part::upper;
  if (auto ok = check_rank(task, triangle); !ok) return ok;
  if (auto ok = multiply_orthogonal(task, reflectors, api::side_left, task.adjoint(), triangle.columns, *tau); !ok)
    return ok;
  Operand first_rows = task.matrix(Argument::b);
  first_rows.rows = triangle.rows;
  return solve_triangle(task, triangle, first_rows);
}

}  // namespace blastoff::device::gpu::cuda
