// Triangular matrices. Solves are by cuBLAS.
#include <algorithm>

#include "blas/call.h"
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

blas::Transpose transpose(char trans) {
  if (trans == 't') return blas::Transpose::transpose;
  return trans == 'c' ? blas::Transpose::conjugate : blas::Transpose::none;
}

}  // namespace

Result<std::vector<double>> diagonal_magnitudes(const Task& task, const Operand& a) {
  Operand diagonal = a;
  diagonal.part = operation::Part::full;
  diagonal.rows = 1;
  ++diagonal.leading_dimension;
  const auto row = task.solver.copy_of(diagonal, Solver::Purpose::matrix);
  if (!row) return tl::unexpected(row.error());
  const auto elements = task.solver.elements(*row, task.problem.scalar());
  if (!elements) return tl::unexpected(elements.error());
  std::vector<double> magnitudes(elements->size());
  std::transform(elements->begin(), elements->end(), magnitudes.begin(),
                 [](std::complex<double> element) { return std::abs(element); });
  return magnitudes;
}

Status solve_triangle(const Task& task, const Operand& a, const Operand& b) {
  const auto library = task.solver.cublas();
  if (!library) return tl::unexpected(library.error());
  blas::Call call;
  call.routine = blas::routine_of(blas::Kind::trsm, task.problem.scalar());
  call.uplo = a.part == operation::Part::upper ? blas::Uplo::upper : blas::Uplo::lower;
  call.transpose_a = transpose(task.problem.trans);
  call.diagonal = task.problem.diag == 'u' ? blas::Diagonal::unit : blas::Diagonal::non_unit;
  call.m = b.rows;
  call.n = b.columns;
  call.alpha = 1;
  void* const addresses[] = {a.address, b.address};
  const std::int64_t leading_dimensions[] = {a.leading_dimension, b.leading_dimension};
  blas::shape_operands(call, addresses, leading_dimensions);
  return (*library)->run(call);
}

Status run_triangle(const Task& task) {
  if (task.kind().action == lapack::Action::invert) return invert_triangle(task);
  const Operand a = task.triangle(Argument::a);
  if (task.problem.diag == 'n') {
    const auto diagonal = diagonal_magnitudes(task, a);
    if (!diagonal) return tl::unexpected(diagonal.error());
    for (const double magnitude : *diagonal)
      if (magnitude == 0) return tl::unexpected(Error{ErrorKind::failed, "the triangle is singular"});
  }
  return solve_triangle(task, a, task.matrix(Argument::b));
}

}  // namespace blastoff::device::gpu::cuda
