// Singular value decomposition. The library requires at least as many rows as columns. So a wide matrix is transposed,
// and left and right vectors change their roles.
#include <algorithm>
#include <cstring>

#include "blas/types.h"
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// The matrix to decompose is A or, if A is wide, its transpose.
struct Decomposition {
  const Task& task;
  TallMatrix tall;

  bool wide() const { return task.problem.m < task.problem.n; }
  /// Where the vectors go; empty if those of that side are not wanted, though they are computed.
  Operand left() const { return task.matrix(Argument::z); }
  Operand right() const { return task.matrix(Argument::right); }
  /// Whether the long side has as many vectors as they have elements.
  bool whole() const { return (wide() ? task.problem.job_right : task.problem.job) == 'a'; }
  std::int64_t left_count() const { return left().empty() ? tall.matrix.columns : left().columns; }
  std::int64_t right_count() const { return right().empty() ? tall.matrix.columns : right().rows; }

  /// Where the left vectors are computed: in their final place, or in work space.
  Result<Operand> left_place() const {
    if (!left().empty()) return task.solver.without_gaps(left(), Solver::Purpose::third_matrix);
    return task.solver.matrix(Solver::Purpose::third_matrix, task.problem.m, left_count(), tall.matrix.element_size);
  }
  /// Work space for the right vectors as columns.
  Result<Operand> right_columns() const {
    return task.solver.matrix(Solver::Purpose::second_matrix, task.problem.n, right_count(), tall.matrix.element_size);
  }
  /// Copy the vectors to their final place.
  Status return_left(const Operand& from) const { return left().empty() ? Status{} : task.solver.copy(left(), from); }
  Status return_right_columns(const Operand& from) const {
    return right().empty() ? Status{} : task.solver.transpose(right(), from, task.problem.scalar());
  }
};

/// Puts the matrix into the work space, where it is destroyed.
Status fetch(Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const Operand a = task.matrix(Argument::a);
  const auto matrix = task.solver.matrix(Solver::Purpose::matrix, std::max(a.rows, a.columns),
                                         std::min(a.rows, a.columns), a.element_size);
  if (!matrix) return tl::unexpected(matrix.error());
  decomposition.tall.matrix = *matrix;
  if (decomposition.wide()) return task.solver.transpose(*matrix, a, task.problem.scalar());
  return task.solver.copy(*matrix, a);
}

Status iterate_without_vectors(const Decomposition& decomposition) {
  const Operand none_left{.leading_dimension = decomposition.tall.matrix.rows};
  const Operand none_right{.leading_dimension = decomposition.tall.matrix.columns};
  return iterate(decomposition.task, decomposition.tall, 'N', none_left, none_right);
}

Status iterate_with_vectors(const Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const signed char job = decomposition.whole() ? 'A' : 'S';
  const Operand left = decomposition.left();
  const Operand right = decomposition.right();
  const auto z = decomposition.left_place();
  if (!z) return tl::unexpected(z.error());
  if (!decomposition.wide()) {
    const auto vt =
        right.empty() ? decomposition.right_columns() : task.solver.without_gaps(right, Solver::Purpose::second_matrix);
    if (!vt) return tl::unexpected(vt.error());
    if (auto ok = iterate(task, decomposition.tall, job, *z, *vt); !ok) return ok;
    if (auto ok = right.empty() ? Status{} : task.solver.copy(right, *vt); !ok) return ok;
    return decomposition.return_left(*z);
  }
  const auto u = decomposition.right_columns();
  if (!u) return tl::unexpected(u.error());
  if (auto ok = iterate(task, decomposition.tall, job, *u, *z); !ok) return ok;
  if (auto ok = decomposition.return_right_columns(*u); !ok || left.empty()) return ok;
  const auto vt = task.solver.copy_of(*z, Solver::Purpose::matrix);
  if (!vt) return tl::unexpected(vt.error());
  return task.solver.transpose(left, *vt, task.problem.scalar());
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

/// ErrorKind::failed if the singular values are not accurate.
Status decompose_with_vectors(const Decomposition& decomposition) {
  const Task& task = decomposition.task;
  const blas::Scalar scalar = task.problem.scalar();
  // The left factor is wanted as it is, the right factor transposed.
  const auto left = decomposition.left_place();
  if (!left) return tl::unexpected(left.error());
  const auto transposed = decomposition.right_columns();
  if (!transposed) return tl::unexpected(transposed.error());
  double perturbation = 0;
  const Operand& u = decomposition.wide() ? *transposed : *left;
  const Operand& v = decomposition.wide() ? *left : *transposed;
  auto decomposed = decompose(task, decomposition.tall, !decomposition.whole(), u, v, perturbation);
  if (!decomposed) return decomposed;
  if (auto ok = decomposition.return_left(*left); !ok) return ok;
  if (auto ok = decomposition.return_right_columns(*transposed); !ok) return ok;
  if (auto ok = task.stage(Argument::w, decomposition.tall.values); !ok) return ok;
  const double largest = first_real(task.results.stage(Argument::w), task.problem.real_bytes());
  if (perturbation <= blas::machine_epsilon(scalar) * largest) return {};
  return tl::unexpected(Error{ErrorKind::failed, "cuSOLVER's gesvdp perturbed the singular values"});
}

/// Tries polar decomposition, which is faster, then QR iteration if the first is not accurate.
Status decompose_or_iterate(Decomposition& decomposition) {
  auto decomposed = decompose_with_vectors(decomposition);
  if (decomposed || decomposed.error().kind != ErrorKind::failed) return decomposed;
  if (auto ok = fetch(decomposition); !ok) return ok;
  return iterate_with_vectors(decomposition);
}

}  // namespace

Status iterate(const Task& task, const TallMatrix& tall, signed char job, const Operand& u, const Operand& vt) {
  const api::Cusolver& library = task.cusolver();
  const Operand& a = tall.matrix;
  return task.solver.run(
      "gesvd",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgesvd_bufferSize(
            task.handle(), task.params(), job, job, a.rows, a.columns, task.type(), a.address, a.leading_dimension,
            task.real_type(), tall.values, task.type(), u.address, u.leading_dimension, task.type(), vt.address,
            vt.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgesvd(task.handle(), task.params(), job, job, a.rows, a.columns, task.type(),
                                        a.address, a.leading_dimension, task.real_type(), tall.values, task.type(),
                                        u.address, u.leading_dimension, task.type(), vt.address, vt.leading_dimension,
                                        task.type(), space.device, space.device_bytes, space.host, space.host_bytes,
                                        space.info);
      });
}

Status decompose(const Task& task, const TallMatrix& tall, bool economic, const Operand& u, const Operand& v,
                 double& perturbation) {
  const api::Cusolver& library = task.cusolver();
  const Operand& a = tall.matrix;
  const int economy = economic ? 1 : 0;
  return task.solver.run(
      "gesvdp",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXgesvdp_bufferSize(
            task.handle(), task.params(), api::with_vectors, economy, a.rows, a.columns, task.type(), a.address,
            a.leading_dimension, task.real_type(), tall.values, task.type(), u.address, u.leading_dimension,
            task.type(), v.address, v.leading_dimension, task.type(), device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXgesvdp(task.handle(), task.params(), api::with_vectors, economy, a.rows, a.columns,
                                         task.type(), a.address, a.leading_dimension, task.real_type(), tall.values,
                                         task.type(), u.address, u.leading_dimension, task.type(), v.address,
                                         v.leading_dimension, task.type(), space.device, space.device_bytes, space.host,
                                         space.host_bytes, space.info, &perturbation);
      });
}

Status run_singular_values(const Task& task) {
  const auto values = task.vector(static_cast<std::size_t>(task.problem.min_side()) * task.problem.real_bytes());
  if (!values) return tl::unexpected(values.error());
  Decomposition decomposition{task, {{}, *values}};
  if (auto ok = fetch(decomposition); !ok) return ok;
  const bool with_vectors = task.problem.wants_singular_vectors();
  const Status done = with_vectors ? decompose_or_iterate(decomposition) : iterate_without_vectors(decomposition);
  return done ? task.stage(Argument::w, decomposition.tall.values) : done;
}

}  // namespace blastoff::device::gpu::cuda
