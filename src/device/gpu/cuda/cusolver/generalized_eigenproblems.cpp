// Generalized eigenproblems of a symmetric and a positive definite matrix, by the 32-bit interface.
#include <fmt/format.h>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

int narrow(std::int64_t size) {
  return static_cast<int>(size);
}

/// Writes all eigenvalues to `w`, the vectors, if they are wanted, to `a`, and the Cholesky factor to `b`.
Status solve_all(const Task& task, const Operand& a, const Operand& b, void* w) {
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  return task.solver.run_in_elements(
      "sygvd", a.element_size,
      [&](int* elements) {
        return library.sygvd_size[scalar](task.handle(), task.problem.itype, task.job(), task.fill(), narrow(a.columns),
                                          a.address, narrow(a.leading_dimension), b.address,
                                          narrow(b.leading_dimension), w, elements);
      },
      [&](void* work, int elements, int* info) {
        return library.sygvd[scalar](task.handle(), task.problem.itype, task.job(), task.fill(), narrow(a.columns),
                                     a.address, narrow(a.leading_dimension), b.address, narrow(b.leading_dimension), w,
                                     work, elements, info);
      });
}

/// Computes eigenvalues il to iu; their vectors become the first columns.
template <class Real, class SizeRoutine, class Routine>
Status solve_some(const Task& task, const Operand& a, const Operand& b, void* w, SizeRoutine* size_routine,
                  Routine* routine) {
  const lapack::Problem& problem = task.problem;
  int found = 0;
  auto solved = task.solver.run_in_elements(
      "sygvdx", a.element_size,
      [&](int* elements) {
        return size_routine(task.handle(), problem.itype, task.job(), api::range_of_indices, task.fill(),
                            narrow(a.columns), a.address, narrow(a.leading_dimension), b.address,
                            narrow(b.leading_dimension), Real{0}, Real{0}, narrow(problem.il), narrow(problem.iu),
                            &found, w, elements);
      },
      [&](void* work, int elements, int* info) {
        return routine(task.handle(), problem.itype, task.job(), api::range_of_indices, task.fill(), narrow(a.columns),
                       a.address, narrow(a.leading_dimension), b.address, narrow(b.leading_dimension), Real{0}, Real{0},
                       narrow(problem.il), narrow(problem.iu), &found, w, work, elements, info);
      });
  if (!solved || found == problem.eigenvalues()) return solved;
  return tl::unexpected(Error{ErrorKind::failed, fmt::format("cuSOLVER's sygvdx found {} eigenvalues", found)});
}

Status solve(const Task& task, const Operand& a, const Operand& b, void* w) {
  if (task.problem.range != 'i') return solve_all(task, a, b, w);
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  if (task.problem.real_bytes() == sizeof(float))
    return solve_some<float>(task, a, b, w, library.sygvdx_size_32[scalar], library.sygvdx_32[scalar]);
  return solve_some<double>(task, a, b, w, library.sygvdx_size_64[scalar], library.sygvdx_64[scalar]);
}

/// Copies B's Cholesky factor to the place of B.
Status return_factor(const Task& task, const Operand& factor) {
  const Operand b = task.triangle(Argument::b);
  if (!task.problem.packed()) return task.solver.copy(b, factor);
  const auto library = task.solver.cublas();
  if (!library) return tl::unexpected(library.error());
  return (*library)->pack(b.address, factor, task.problem.scalar());
}

}  // namespace

Status run_generalized_eigenproblem(const Task& task) {
  if (auto ok = task.require_32_bits(); !ok) return ok;
  const auto w = task.vector(static_cast<std::size_t>(task.problem.n) * task.problem.real_bytes());
  if (!w) return tl::unexpected(w.error());
  const auto a = symmetric_matrix(task);
  if (!a) return tl::unexpected(a.error());
  // A copy, since the library may overwrite the other triangle of B, which belongs to the program.
  const auto factor = copy_of_triangle(task, Argument::b, Solver::Purpose::second_matrix);
  if (!factor) return tl::unexpected(factor.error());
  if (auto ok = solve(task, *a, *factor, *w); !ok) return ok;
  if (auto ok = return_factor(task, *factor); !ok) return ok;
  return return_eigenvectors(task, *a, *w);
}

}  // namespace blastoff::device::gpu::cuda
