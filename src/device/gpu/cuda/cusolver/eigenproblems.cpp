// Eigenvalues and eigenvectors of symmetric matrices.
#include <fmt/format.h>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// Writes all eigenvalues to `w`. The vectors, if they are wanted, replace `a`, which is destroyed otherwise.
Status solve_all(const Task& task, const Operand& a, void* w) {
  const api::Cusolver& library = task.cusolver();
  return task.solver.run(
      "syevd",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXsyevd_bufferSize(task.handle(), task.params(), task.job(), task.fill(), a.columns,
                                                   task.type(), a.address, a.leading_dimension, task.real_type(), w,
                                                   task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXsyevd(task.handle(), task.params(), task.job(), task.fill(), a.columns, task.type(),
                                        a.address, a.leading_dimension, task.real_type(), w, task.type(), space.device,
                                        space.device_bytes, space.host, space.host_bytes, space.info);
      });
}

/// Computes eigenvalues il to iu; their vectors become the first columns.
Status solve_some(const Task& task, const Operand& a, void* w) {
  const api::Cusolver& library = task.cusolver();
  const lapack::Problem& problem = task.problem;
  double unused[2] = {};  // the range of values
  std::int64_t found = 0;
  auto solved = task.solver.run(
      "syevdx",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXsyevdx_bufferSize(task.handle(), task.params(), task.job(), api::range_of_indices,
                                                    task.fill(), a.columns, task.type(), a.address, a.leading_dimension,
                                                    &unused[0], &unused[1], problem.il, problem.iu, &found,
                                                    task.real_type(), w, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXsyevdx(task.handle(), task.params(), task.job(), api::range_of_indices, task.fill(),
                                         a.columns, task.type(), a.address, a.leading_dimension, &unused[0], &unused[1],
                                         problem.il, problem.iu, &found, task.real_type(), w, task.type(), space.device,
                                         space.device_bytes, space.host, space.host_bytes, space.info);
      });
  if (!solved || found == problem.eigenvalues()) return solved;
  return tl::unexpected(Error{ErrorKind::failed, fmt::format("cuSOLVER's syevdx found {} eigenvalues", found)});
}

}  // namespace

Result<Operand> copy_of_triangle(const Task& task, Argument argument, Solver::Purpose purpose) {
  const Operand triangle = task.triangle(argument);
  if (!task.problem.packed()) return task.solver.copy_of(triangle, purpose);
  auto matrix = task.solver.matrix(purpose, task.problem.n, task.problem.n, triangle.element_size);
  if (!matrix) return matrix;
  matrix->part = task.problem.upper() ? operation::Part::upper : operation::Part::lower;
  const auto library = task.solver.cublas();
  if (!library) return tl::unexpected(library.error());
  if (auto ok = (*library)->unpack(*matrix, triangle.address, task.problem.scalar()); !ok)
    return tl::unexpected(ok.error());
  return matrix;
}

Result<Operand> symmetric_matrix(const Task& task) {
  const Operand a = task.triangle(Argument::a);
  if (operation::writes(a.intent)) return a;
  return copy_of_triangle(task, Argument::a, Solver::Purpose::matrix);
}

Status return_eigenvectors(const Task& task, const Operand& vectors, void* w) {
  if (task.problem.counts_afterwards()) return return_range_of_values(task, vectors, w);
  if (lapack::argument_list(task.problem.routine).has(Argument::z) && task.problem.wants_vectors()) {
    const Operand z = task.matrix(Argument::z);
    Operand first = vectors;
    first.columns = z.columns;
    first.part = operation::Part::full;
    if (auto ok = task.solver.copy(z, first); !ok) return ok;
  }
  return task.stage(Argument::w, w);
}

Status run_eigenproblem(const Task& task) {
  const auto w = task.vector(static_cast<std::size_t>(task.problem.n) * task.problem.real_bytes());
  if (!w) return tl::unexpected(w.error());
  const auto a = symmetric_matrix(task);
  if (!a) return tl::unexpected(a.error());
  if (auto ok = task.problem.range == 'i' ? solve_some(task, *a, *w) : solve_all(task, *a, *w); !ok) return ok;
  return return_eigenvectors(task, *a, *w);
}

}  // namespace blastoff::device::gpu::cuda
