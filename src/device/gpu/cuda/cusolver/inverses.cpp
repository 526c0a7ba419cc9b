// Inverses of triangular matrices, and inverses from Cholesky factors.
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

Status invert_triangle(const Task& task, const Operand& a) {
  const api::Cusolver& library = task.cusolver();
  const int diagonal = task.problem.diag == 'u' ? api::diagonal_unit : api::diagonal_non_unit;
  return task.solver.run(
      "trtri",
      [&](std::size_t* device, std::size_t* host) {
        return library.cusolverDnXtrtri_bufferSize(task.handle(), task.fill(), diagonal, a.columns, task.type(),
                                                   a.address, a.leading_dimension, device, host);
      },
      [&](const LibrarySpace& space) {
        return library.cusolverDnXtrtri(task.handle(), task.fill(), diagonal, a.columns, task.type(), a.address,
                                        a.leading_dimension, space.device, space.device_bytes, space.host,
                                        space.host_bytes, space.info);
      });
}

/// A triangle without its diagonal is the triangle of a smaller matrix.
Operand without_diagonal(Operand triangle) {
  const bool lower = triangle.part == operation::Part::lower;
  const std::size_t offset = lower ? triangle.element_size : triangle.stride_bytes();
  triangle.address = static_cast<unsigned char*>(triangle.address) + offset;
  --triangle.rows;
  --triangle.columns;
  return triangle;
}

/// Leaves the diagonal alone: it may belong to another triangle, which is the program's.
Status invert_unit_triangle(const Task& task) {
  const Operand a = task.matrix(Argument::a);
  auto inverse = task.solver.matrix(Solver::Purpose::matrix, a.rows, a.columns, a.element_size);
  if (!inverse) return tl::unexpected(inverse.error());
  inverse->part = a.part;
  if (auto ok = task.solver.set_to_identity(*inverse, task.problem.scalar()); !ok) return ok;
  if (auto ok = task.solver.copy(without_diagonal(*inverse), without_diagonal(a)); !ok) return ok;
  if (auto ok = invert_triangle(task, *inverse); !ok) return ok;
  return task.solver.copy(without_diagonal(a), without_diagonal(*inverse));
}

}  // namespace

/// Works on a copy, since the library may overwrite the other triangle, which belongs to the program.
Status invert_from_cholesky(const Task& task) {
  if (auto ok = task.require_32_bits(); !ok) return ok;
  const api::Cusolver& library = task.cusolver();
  const std::size_t scalar = task.scalar_index();
  const Operand a = task.matrix(Argument::a);
  const auto inverse = task.solver.copy_of(a, Solver::Purpose::matrix);
  if (!inverse) return tl::unexpected(inverse.error());
  const int order = static_cast<int>(a.columns);
  auto inverted = task.solver.run_in_elements(
      "potri", a.element_size,
      [&](int* elements) {
        return library.potri_size[scalar](task.handle(), task.fill(), order, inverse->address, order, elements);
      },
      [&](void* work, int elements, int* info) {
        return library.potri[scalar](task.handle(), task.fill(), order, inverse->address, order, work, elements, info);
      });
  return inverted ? task.solver.copy(a, *inverse) : inverted;
}

Status invert_triangle(const Task& task) {
  return task.problem.diag == 'u' ? invert_unit_triangle(task) : invert_triangle(task, task.matrix(Argument::a));
}

}  // namespace blastoff::device::gpu::cuda
