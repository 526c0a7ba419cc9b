// Eigenvalues and right eigenvectors of a general matrix.
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// If all types are real, `w` gets the real parts, then the imaginary parts, and the vectors are packed as in LAPACK.
Status solve(const Task& task, const Operand& a, void* w, const Operand& right) {
  const api::Cusolver& library = task.cusolver();
  const int job = right.empty() ? api::no_vectors : api::with_vectors;
  const std::int64_t ldr = right.empty() ? a.columns : right.leading_dimension;
  return task.solver.run(
      "geev",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgeev_bufferSize(task.handle(), task.params(), api::no_vectors, job, a.columns,
                                                  task.type(), a.address, a.leading_dimension, task.type(), w,
                                                  task.type(), nullptr, a.columns, task.type(), right.address, ldr,
                                                  task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgeev(task.handle(), task.params(), api::no_vectors, job, a.columns, task.type(),
                                       a.address, a.leading_dimension, task.type(), w, task.type(), nullptr, a.columns,
                                       task.type(), right.address, ldr, task.type(), space.device, space.device_bytes,
                                       space.host, space.host_bytes, space.info);
      });
}

}  // namespace

Status run_general_eigenproblem(const Task& task) {
  const api::Cusolver& library = task.cusolver();
  if (library.cusolverDnXgeev == nullptr || library.cusolverDnXgeev_bufferSize == nullptr)
    return tl::unexpected(Error{ErrorKind::unsupported, "this cuSOLVER has no geev; 11.7.2 (CUDA 12.8) has it"});
  const bool complex = blas::is_complex(task.problem.scalar());
  const std::size_t bytes = static_cast<std::size_t>(task.problem.n) * task.problem.element_bytes();
  const auto w = task.vector(complex ? bytes : 2 * bytes);
  if (!w) return tl::unexpected(w.error());
  const auto a = task.solver.copy_of(task.matrix(Argument::a), Solver::Purpose::matrix);
  if (!a) return tl::unexpected(a.error());
  const Operand right = task.matrix(Argument::right);
  const auto vectors = task.solver.without_gaps(right, Solver::Purpose::second_matrix);
  if (!vectors) return tl::unexpected(vectors.error());
  if (auto ok = solve(task, *a, *w, *vectors); !ok) return ok;
  if (auto ok = task.solver.copy(right, *vectors); !ok) return ok;
  if (auto ok = task.stage(Argument::w, *w); !ok || complex) return ok;
  return task.stage(Argument::wi, *w, bytes);
}

}  // namespace blastoff::device::gpu::cuda
