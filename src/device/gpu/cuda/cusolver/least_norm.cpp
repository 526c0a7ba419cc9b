// Least squares by singular values: A = P S Q^H, and X = Q S^-1 P^H B.
#include <algorithm>
#include <cmath>

#include "blas/call.h"
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// C = A B, or A^H B.
Status multiply(const Task& task, bool adjoint, const Operand& a, const Operand& b, const Operand& c) {
  const auto library = task.solver.cublas();
  if (!library) return tl::unexpected(library.error());
  blas::Call call;
  call.routine = blas::routine_of(blas::Kind::gemm, task.problem.scalar());
  call.transpose_a = adjoint ? blas::Transpose::conjugate : blas::Transpose::none;
  call.m = c.rows;
  call.n = c.columns;
  call.k = b.rows;
  call.alpha = 1;
  void* const addresses[] = {a.address, b.address, c.address};
  const std::int64_t leading_dimensions[] = {a.leading_dimension, b.leading_dimension, c.leading_dimension};
  blas::shape_operands(call, addresses, leading_dimensions);
  return (*library)->run(call);
}

Operand first_rows(Operand matrix, std::int64_t count) {
  matrix.rows = count;
  return matrix;
}

/// Vectors as columns, or their adjoint: as rows.
struct Vectors {
  Operand matrix;
  bool as_rows = false;

  /// V B, with the first `count` vectors.
  Status times(const Task& task, std::int64_t count, const Operand& b, const Operand& to) const {
    return multiply(task, as_rows, first(count), b, to);
  }
  /// V^H B
  Status adjoint_times(const Task& task, std::int64_t count, const Operand& b, const Operand& to) const {
    return multiply(task, !as_rows, first(count), b, to);
  }

 private:
  Operand first(std::int64_t count) const {
    Operand result = matrix;
    (as_rows ? result.rows : result.columns) = count;
    return result;
  }
};

class LeastNorm {
 public:
  explicit LeastNorm(const Task& task) : task_(task), a_(task.matrix(Argument::a)), b_(task.matrix(Argument::b)) {}

  Status run() {
    if (auto ok = task_.require_32_bits(); !ok) return ok;
    if (auto ok = reduce(); !ok) return ok;
    if (auto ok = decompose(); !ok) return ok;
    if (auto ok = find_rank(); !ok) return ok;
    if (auto ok = solve(); !ok) return ok;
    return operation::writes(a_.intent) ? return_vectors() : Status{};
  }

 private:
  bool wide() const { return a_.rows < a_.columns; }
  bool has_triangle() const { return a_.rows > a_.columns; }
  std::int64_t low() const { return task_.problem.min_side(); }

  /// A = Q R if A has more rows than columns, and B = Q^H B.
  Status reduce() {
    if (!has_triangle()) return {};
    const auto reflectors = task_.solver.copy_of(a_, Solver::Purpose::matrix);
    if (!reflectors) return tl::unexpected(reflectors.error());
    factored_ = *reflectors;
    const auto tau = factor_orthogonal(task_, factored_);
    if (!tau) return tl::unexpected(tau.error());
    return multiply_orthogonal(task_, factored_, api::side_left, task_.adjoint(), low(), *tau);
  }

  /// Puts the matrix to decompose into the work space: R, A, or A^H if A is wide.
  Status fetch() {
    const auto matrix =
        task_.solver.matrix(Solver::Purpose::second_matrix, wide() ? a_.columns : low(), low(), a_.element_size);
    if (!matrix) return tl::unexpected(matrix.error());
    tall_.matrix = *matrix;
    if (wide()) return task_.solver.transpose(*matrix, a_, task_.problem.scalar());
    if (!has_triangle()) return task_.solver.copy(*matrix, a_);
    if (auto ok = task_.solver.set_to_identity(*matrix, task_.problem.scalar()); !ok) return ok;
    Operand triangle = first_rows(factored_, low());
    triangle.part = operation::Part::upper;
    return task_.solver.copy(*matrix, triangle);
  }

  /// Tries polar decomposition, which is faster, then QR iteration if the first is not accurate.
  Status decompose() {
    const auto values = task_.vector(static_cast<std::size_t>(low()) * task_.problem.real_bytes());
    if (!values) return tl::unexpected(values.error());
    tall_.values = *values;
    if (auto ok = fetch(); !ok) return ok;
    const auto u = task_.solver.matrix(Solver::Purpose::third_matrix, tall_.matrix.rows, low(), a_.element_size);
    if (!u) return tl::unexpected(u.error());
    const auto v = task_.solver.matrix(Solver::Purpose::fourth_matrix, low(), low(), a_.element_size);
    if (!v) return tl::unexpected(v.error());
    u_ = {*u};
    v_ = {*v};
    double perturbation = 0;
    auto done = cuda::decompose(task_, tall_, true, *u, *v, perturbation);
    if (done) done = read_values();
    if (done && perturbation <= epsilon() * values_.front()) return {};
    if (!done && done.error().kind != ErrorKind::failed) return done;
    v_.as_rows = true;
    if (auto ok = fetch(); !ok) return ok;
    if (auto ok = iterate(task_, tall_, 'S', *u, *v); !ok) return ok;
    return read_values();
  }

  Status read_values() {
    auto values = real_numbers(task_, tall_.values, low());
    if (!values) return tl::unexpected(values.error());
    values_ = std::move(*values);
    return task_.stage(Argument::w, tall_.values);
  }

  double epsilon() const { return blas::machine_epsilon(task_.problem.scalar()); }

  /// ErrorKind::failed if rounding errors decide whether a singular value counts as 0. These errors are in proportion
  /// to the largest singular value.
  Status find_rank() {
    const double rcond = task_.problem.rcond();
    const double limit = (rcond > 0 ? rcond : epsilon()) * values_.front();
    const double error =
        4 * std::sqrt(static_cast<double>(std::max(a_.rows, a_.columns))) * epsilon() * values_.front();
    const auto in_doubt = [&](double value) { return !(std::abs(value - limit) > error); };
    if (std::any_of(values_.begin(), values_.end(), in_doubt))
      return tl::unexpected(Error{ErrorKind::failed, "rounding errors decide on the rank of the matrix"});
    rank_ = std::count_if(values_.begin(), values_.end(), [&](double value) { return value > limit; });
    task_.results.stage_integers(Argument::rank, {{rank_}});
    return {};
  }

  Status solve() {
    const Vectors& left = wide() ? v_ : u_;
    const Vectors& right = wide() ? u_ : v_;
    const auto image = task_.solver.matrix(Solver::Purpose::second_matrix, rank_, b_.columns, b_.element_size);
    if (!image) return tl::unexpected(image.error());
    if (auto ok = left.adjoint_times(task_, rank_, first_rows(b_, low()), *image); !ok) return ok;
    if (auto ok = divide_by_values(*image); !ok) return ok;
    return right.times(task_, rank_, *image, first_rows(b_, a_.columns));
  }

  /// Solves with a diagonal matrix.
  Status divide_by_values(const Operand& image) {
    auto diagonal = task_.solver.matrix(Solver::Purpose::matrix, rank_, rank_, a_.element_size);
    if (!diagonal) return tl::unexpected(diagonal.error());
    if (auto ok = task_.solver.set_to_identity(*diagonal, task_.problem.scalar()); !ok) return ok;
    Operand real_parts = *diagonal;
    real_parts.rows = 1;
    real_parts.leading_dimension =
        (rank_ + 1) * static_cast<std::int64_t>(a_.element_size / task_.problem.real_bytes());
    real_parts.element_size = task_.problem.real_bytes();
    const Operand values{.address = tall_.values,
                         .rows = 1,
                         .columns = rank_,
                         .leading_dimension = 1,
                         .element_size = task_.problem.real_bytes()};
    if (auto ok = task_.solver.copy(real_parts, values); !ok) return ok;
    diagonal->part = operation::Part::upper;
    return solve_triangle(task_, *diagonal, image);
  }

  /// gelss returns the right singular vectors as rows.
  Status return_vectors() {
    const Vectors& right = wide() ? u_ : v_;
    const Operand rows = first_rows(a_, low());
    if (right.as_rows) return task_.solver.copy(rows, right.matrix);
    return task_.solver.transpose(rows, right.matrix, task_.problem.scalar());
  }

  const Task& task_;
  const Operand a_;
  const Operand b_;
  Operand factored_;
  TallMatrix tall_;
  Vectors u_;
  Vectors v_;
  std::vector<double> values_;
  std::int64_t rank_ = 0;
};

}  // namespace

Status run_least_norm(const Task& task) {
  return LeastNorm(task).run();
}

}  // namespace blastoff::device::gpu::cuda
