// Cholesky and LU factorization, and the solves with their factors.
#include <vector>

#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Action;
using lapack::Argument;

Status factor_cholesky(const Task& task) {
  const api::Cusolver& library = task.cusolver();
  const Operand a = task.matrix(Argument::a);
  return task.solver.run(
      "potrf",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXpotrf_bufferSize(task.handle(), task.params(), task.fill(), a.columns, task.type(),
                                                   a.address, a.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXpotrf(task.handle(), task.params(), task.fill(), a.columns, task.type(), a.address,
                                        a.leading_dimension, task.type(), space.device, space.device_bytes, space.host,
                                        space.host_bytes, space.info);
      });
}

Status solve_cholesky(const Task& task) {
  const Operand a = task.matrix(Argument::a);
  const Operand b = task.matrix(Argument::b);
  return task.solver.run_without_space("potrs", [&](int* info) {
    return task.cusolver().cusolverDnXpotrs(task.handle(), task.params(), task.fill(), a.columns, b.columns,
                                            task.type(), a.address, a.leading_dimension, task.type(), b.address,
                                            b.leading_dimension, info);
  });
}

/// Row interchanges, in device memory.
using Pivots = std::int64_t*;

Result<Pivots> pivot_memory(const Task& task) {
  const auto count = static_cast<std::size_t>(task.problem.min_side());
  const auto memory = task.vector(count * sizeof(std::int64_t));
  if (!memory) return tl::unexpected(memory.error());
  return static_cast<Pivots>(*memory);
}

/// The pivots that the program gave. A pivot out of range would make the GPU exchange rows that do not exist.
Result<Pivots> given_pivots(const Task& task) {
  const std::vector<std::int64_t> values = task.results.given_integers(Argument::ipiv);
  for (const std::int64_t pivot : values) {
    if (pivot < 1 || pivot > task.problem.n)
      return tl::unexpected(Error{ErrorKind::failed, "a pivot is not the number of a row"});
  }
  auto pivots = pivot_memory(task);
  if (!pivots) return pivots;
  const auto ok = task.solver.copy_to_device(reinterpret_cast<std::uintptr_t>(*pivots), values.data(),
                                             values.size() * sizeof values[0]);
  if (!ok) return tl::unexpected(ok.error());
  return pivots;
}

Status stage_pivots(const Task& task, Pivots pivots) {
  std::vector<std::int64_t> values(static_cast<std::size_t>(task.problem.min_side()));
  auto ok = task.solver.copy_to_host(values.data(), reinterpret_cast<std::uintptr_t>(pivots),
                                     values.size() * sizeof values[0]);
  if (ok) task.results.stage_integers(Argument::ipiv, values);
  return ok;
}

Status factor_lu(const Task& task, Pivots pivots) {
  const api::Cusolver& library = task.cusolver();
  const Operand a = task.matrix(Argument::a);
  auto factored = task.solver.run(
      "getrf",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgetrf_bufferSize(task.handle(), task.params(), a.rows, a.columns, task.type(),
                                                   a.address, a.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgetrf(task.handle(), task.params(), a.rows, a.columns, task.type(), a.address,
                                        a.leading_dimension, pivots, task.type(), space.device, space.device_bytes,
                                        space.host, space.host_bytes, space.info);
      });
  return factored ? stage_pivots(task, pivots) : factored;
}

Status solve_lu(const Task& task, int operation, Pivots pivots, const Operand& b) {
  const Operand a = task.matrix(Argument::a);
  return task.solver.run_without_space("getrs", [&](int* info) {
    return task.cusolver().cusolverDnXgetrs(task.handle(), task.params(), operation, a.columns, b.columns, task.type(),
                                            a.address, a.leading_dimension, pivots, task.type(), b.address,
                                            b.leading_dimension, info);
  });
}

/// cuSOLVER has no getri: the inverse is computed as the solution for the identity matrix.
Status invert_lu(const Task& task, Pivots pivots) {
  const Operand a = task.matrix(Argument::a);
  const auto inverse = task.solver.matrix(Solver::Purpose::matrix, a.rows, a.columns, a.element_size);
  if (!inverse) return tl::unexpected(inverse.error());
  if (auto ok = task.solver.set_to_identity(*inverse, task.problem.scalar()); !ok) return ok;
  if (auto ok = solve_lu(task, api::operation_none, pivots, *inverse); !ok) return ok;
  return task.solver.copy(a, *inverse);
}

Status run_with_new_pivots(const Task& task) {
  const auto pivots = pivot_memory(task);
  if (!pivots) return tl::unexpected(pivots.error());
  if (auto ok = factor_lu(task, *pivots); !ok || task.kind().action == Action::factor) return ok;
  return solve_lu(task, api::operation_none, *pivots, task.matrix(Argument::b));
}

Status run_with_given_pivots(const Task& task) {
  const auto pivots = given_pivots(task);
  if (!pivots) return tl::unexpected(pivots.error());
  if (task.kind().action == Action::invert) return invert_lu(task, *pivots);
  return solve_lu(task, task.operation_code(), *pivots, task.matrix(Argument::b));
}

}  // namespace

Status run_cholesky(const Task& task) {
  switch (task.kind().action) {
    case Action::factor: return factor_cholesky(task);
    case Action::solve: return solve_cholesky(task);
    case Action::invert: return invert_from_cholesky(task);
    default: break;
  }
  auto factored = factor_cholesky(task);
  return factored ? solve_cholesky(task) : factored;
}

Status run_lu(const Task& task) {
  return task.kind().factors_given ? run_with_given_pivots(task) : run_with_new_pivots(task);
}

}  // namespace blastoff::device::gpu::cuda
