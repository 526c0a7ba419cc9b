// One LAPACK operation for the library, and the families of routines that run it.
#pragma once

#include <vector>

#include "device/gpu/cuda/cusolver/host_results.h"
#include "device/gpu/cuda/cusolver/solver.h"
#include "lapack/kinds.h"

namespace blastoff::device::gpu::cuda {

struct Task {
  Solver& solver;
  const operation::Operation& operation;
  const lapack::Problem problem;
  HostResults& results;

  const lapack::KindRow& kind() const { return lapack::kind_row(problem); }
  const api::Cusolver& cusolver() const { return solver.cusolver(); }
  api::cusolverHandle handle() const { return solver.handle(); }
  api::cusolverParams params() const { return solver.params(); }

  /// A matrix argument in device memory; its address is null if the routine does not use it.
  Operand matrix(lapack::Argument argument) const;
  /// The triangle of a symmetric argument that is input, whatever happens to the rest; a packed argument unchanged.
  Operand triangle(lapack::Argument argument) const;

  int type() const;       ///< for the elements
  int real_type() const;  ///< for their real parts
  int fill() const { return problem.upper() ? api::fill_upper : api::fill_lower; }
  int operation_code() const;  ///< for problem.trans
  int adjoint() const {
    return blas::is_complex(problem.scalar()) ? api::operation_conjugate : api::operation_transpose;
  }
  int job() const { return problem.wants_vectors() ? api::with_vectors : api::no_vectors; }
  std::size_t scalar_index() const { return static_cast<std::size_t>(problem.scalar()); }

  /// ErrorKind::unsupported unless the sizes and leading dimensions fit the 32-bit interface.
  Status require_32_bits() const;

  /// vector() gives device memory for a small vector; stage() copies from there to the host vector `argument`.
  Result<void*> vector(std::size_t bytes) const;
  Status stage(lapack::Argument argument, const void* device, std::size_t offset = 0) const;
};

/// One function for each family. It writes the operands on the device and stages the host vectors.
Status run_cholesky(const Task& task);
Status run_lu(const Task& task);
Status run_triangle(const Task& task);
Status run_indefinite(const Task& task);
Status run_orthogonal(const Task& task);
Status run_row_exchange(const Task& task);
Status run_norm(const Task& task);
Status run_least_squares(const Task& task);
Status run_least_norm(const Task& task);
Status run_eigenproblem(const Task& task);
Status run_generalized_eigenproblem(const Task& task);
Status run_reduction(const Task& task);
Status run_singular_values(const Task& task);
Status run_general_eigenproblem(const Task& task);

/// The inverse of the matrix whose Cholesky factor is in A, in its place.
Status invert_from_cholesky(const Task& task);
/// The inverse of the triangle A, in its place.
Status invert_triangle(const Task& task);

/// A = Q R, in place. `a` has the sizes of the problem. Returns tau, in the memory of Task::vector().
Result<void*> factor_orthogonal(const Task& task, const Operand& a);
/// Multiplies B by Q, or by its adjoint. `a` and `tau` hold the reflectors of Q; the first `reflectors` of them count.
Status multiply_orthogonal(const Task& task, const Operand& a, int side, int operation, std::int64_t reflectors,
                           void* tau);
/// The magnitudes of a matrix's diagonal, on the host.
Result<std::vector<double>> diagonal_magnitudes(const Task& task, const Operand& a);
/// Real numbers in device memory, on the host.
Result<std::vector<double>> real_numbers(const Task& task, void* device, std::int64_t count);
/// Solves with a triangle; the part of `a` says which one, the problem's trans and diag how.
Status solve_triangle(const Task& task, const Operand& a, const Operand& b);

/// A matrix with at least as many rows as columns, which the decomposition destroys, and device memory for its singular
/// values.
struct TallMatrix {
  Operand matrix;
  void* values = nullptr;
};
/// Polar decomposition: writes U and V, with as many columns as A has, or, if it is not `economic`, rows. If some
/// singular values are close to 0, `perturbation` was added to the singular values.
Status decompose(const Task& task, const TallMatrix& a, bool economic, const Operand& u, const Operand& v,
                 double& perturbation);
/// QR iteration: writes U, and V transposed. `job`: 'A' for all vectors, 'S' for as many as A has columns, 'N' for
/// none.
Status iterate(const Task& task, const TallMatrix& a, signed char job, const Operand& u, const Operand& vt);

/// A copy of a symmetric argument's triangle in the work space, unpacked if the argument is packed.
Result<Operand> copy_of_triangle(const Task& task, lapack::Argument argument, Solver::Purpose purpose);
/// A itself, if the routine may destroy it and vectors replace it; otherwise a copy of its triangle.
Result<Operand> symmetric_matrix(const Task& task);
/// To be called when all eigenvalues are in `w`, and the vectors, if they are wanted, have replaced the matrix. Stages
/// the eigenvalues, and copies the first vectors to Z if the routine has it. For a range of values, stages both.
Status return_eigenvectors(const Task& task, const Operand& vectors, void* w);
/// The same for a range of values.
Status return_range_of_values(const Task& task, const Operand& vectors, void* w);

}  // namespace blastoff::device::gpu::cuda
