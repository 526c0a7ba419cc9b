// Singular value decomposition. The library wants at least as many rows as columns: a wide matrix is transposed, and so
// are the vectors, which change their roles.
#include <algorithm>
#include <cstring>

#include "blas/types.h"
#include "device/cuda/cusolver/task.h"

namespace blastoff::device::cuda {
namespace {

using lapack::Argument;

/// What is decomposed: A, or its transpose, tall in any case, and device memory for the singular values.
struct Decomposition {
  const Task& task;
  Operand matrix;
  void* values = nullptr;

  bool wide() const { return task.problem.m < task.problem.n; }
  Operand left() const { return task.matrix(Argument::z); }
  Operand right() const { return task.matrix(Argument::right); }
};

/// Puts the matrix into the work space, where it is destroyed.
Status fetch(Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const Operand a = task.matrix(Argument::a);
  const auto matrix = task.solver.matrix(Solver::Purpose::matrix, std::max(a.rows, a.columns),
                                         std::min(a.rows, a.columns), a.element_size);
  if (!matrix) return tl::unexpected(matrix.error());
  decomposition.matrix = *matrix;
  if (decomposition.wide()) return task.solver.transpose(*matrix, a, task.problem.scalar());
  return task.solver.copy(*matrix, a);
}

/// By QR iteration, with the vectors of the tall matrix: U, and V transposed. Null addresses without vectors.
Status iterate(const Decomposition& decomposition, const Operand& u, const Operand& vt) {
  const Task& task = decomposition.task;
  const api::Cusolver& library = task.cusolver();
  const Operand& a = decomposition.matrix;
  const auto job = static_cast<signed char>(task.problem.job - 'a' + 'A');
  return task.solver.run(
      "gesvd",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgesvd_bufferSize(
            task.handle(), task.params(), job, job, a.rows, a.columns, task.type(), a.address, a.leading_dimension,
            task.real_type(), decomposition.values, task.type(), u.address, u.leading_dimension, task.type(),
            vt.address, vt.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgesvd(task.handle(), task.params(), job, job, a.rows, a.columns, task.type(),
                                        a.address, a.leading_dimension, task.real_type(), decomposition.values,
                                        task.type(), u.address, u.leading_dimension, task.type(), vt.address,
                                        vt.leading_dimension, task.type(), space.device, space.device_bytes, space.host,
                                        space.host_bytes, space.info);
      });
}

Status iterate_without_vectors(const Decomposition& decomposition) {
  const Operand none_left{.leading_dimension = decomposition.matrix.rows};
  const Operand none_right{.leading_dimension = decomposition.matrix.columns};
  return iterate(decomposition, none_left, none_right);
}

Status iterate_with_vectors(const Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const Operand left = decomposition.left();
  const Operand right = decomposition.right();
  const auto z = task.solver.without_gaps(left, Solver::Purpose::third_matrix);
  if (!z) return tl::unexpected(z.error());
  if (!decomposition.wide()) {
    const auto vt = task.solver.without_gaps(right, Solver::Purpose::second_matrix);
    if (!vt) return tl::unexpected(vt.error());
    if (auto ok = iterate(decomposition, *z, *vt); !ok) return ok;
    if (auto ok = task.solver.copy(right, *vt); !ok) return ok;
    return task.solver.copy(left, *z);
  }
  const auto u = task.solver.matrix(Solver::Purpose::second_matrix, right.columns, right.rows, right.element_size);
  if (!u) return tl::unexpected(u.error());
  if (auto ok = iterate(decomposition, *u, *z); !ok) return ok;
  if (auto ok = task.solver.transpose(right, *u, task.problem.scalar()); !ok) return ok;
  const auto vt = task.solver.copy_of(*z, Solver::Purpose::matrix);
  if (!vt) return tl::unexpected(vt.error());
  return task.solver.transpose(left, *vt, task.problem.scalar());
}

/// By polar decomposition, with the vectors of the tall matrix: U and V. `perturbation` was added to the singular
/// values where some are close to 0.
Status decompose(const Decomposition& decomposition, const Operand& u, const Operand& v, double& perturbation) {
  const Task& task = decomposition.task;
  const api::Cusolver& library = task.cusolver();
  const Operand& a = decomposition.matrix;
  const int economic = task.problem.job == 's' ? 1 : 0;
  return task.solver.run(
      "gesvdp",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgesvdp_bufferSize(
            task.handle(), task.params(), api::with_vectors, economic, a.rows, a.columns, task.type(), a.address,
            a.leading_dimension, task.real_type(), decomposition.values, task.type(), u.address, u.leading_dimension,
            task.type(), v.address, v.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgesvdp(task.handle(), task.params(), api::with_vectors, economic, a.rows, a.columns,
                                         task.type(), a.address, a.leading_dimension, task.real_type(),
                                         decomposition.values, task.type(), u.address, u.leading_dimension, task.type(),
                                         v.address, v.leading_dimension, task.type(), space.device, space.device_bytes,
                                         space.host, space.host_bytes, space.info, &perturbation);
      });
}

double first_real(std::span<const std::byte> values, std::size_t real_bytes) {
  if (real_bytes == sizeof(float)) {
    float value;
    std::memcpy(&value, values.data(), sizeof value);
    return static_cast<double>(value);
  }
  double value;
  std::memcpy(&value, values.data(), sizeof value);
  return value;
}

/// ErrorKind::failed where the singular values are not accurate.
Status decompose_with_vectors(const Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const blas::Scalar scalar = task.problem.scalar();
  // The left factor is wanted as it is, the right one transposed.
  const auto left = task.solver.without_gaps(decomposition.left(), Solver::Purpose::third_matrix);
  if (!left) return tl::unexpected(left.error());
  const Operand right = decomposition.right();
  const auto transposed =
      task.solver.matrix(Solver::Purpose::second_matrix, right.columns, right.rows, right.element_size);
  if (!transposed) return tl::unexpected(transposed.error());
  double perturbation = 0;
  auto decomposed = decomposition.wide() ? decompose(decomposition, *transposed, *left, perturbation)
                                         : decompose(decomposition, *left, *transposed, perturbation);
  if (!decomposed) return decomposed;
  if (auto ok = task.solver.copy(decomposition.left(), *left); !ok) return ok;
  if (auto ok = task.solver.transpose(right, *transposed, scalar); !ok) return ok;
  if (auto ok = task.stage(Argument::w, decomposition.values); !ok) return ok;
  const double largest = first_real(task.results.stage(Argument::w), task.problem.real_bytes());
  if (perturbation <= blas::machine_epsilon(scalar) * largest) return {};
  return tl::unexpected(Error{ErrorKind::failed, "cuSOLVER's gesvdp perturbed the singular values"});
}

/// Polar decomposition is faster, where it is accurate; without vectors there is no gain.
bool prefers_polar_decomposition(const lapack::Problem& problem) {
  return problem.job != 'n';
}

Status decompose_or_iterate(Decomposition& decomposition) {
  auto decomposed = decompose_with_vectors(decomposition);
  if (decomposed || decomposed.error().kind != ErrorKind::failed) return decomposed;
  if (auto ok = fetch(decomposition); !ok) return ok;
  return iterate_with_vectors(decomposition);
}

}  // namespace

Status run_singular_values(const Task& task) {
  const auto values = task.vector(static_cast<std::size_t>(task.problem.least_side()) * task.problem.real_bytes());
  if (!values) return tl::unexpected(values.error());
  Decomposition decomposition{task, {}, *values};
  if (auto ok = fetch(decomposition); !ok) return ok;
  Status done;
  if (prefers_polar_decomposition(task.problem)) {
    done = decompose_or_iterate(decomposition);
  } else {
    done = task.problem.job == 'n' ? iterate_without_vectors(decomposition) : iterate_with_vectors(decomposition);
  }
  return done ? task.stage(Argument::w, decomposition.values) : done;
}

}  // namespace blastoff::device::cuda
