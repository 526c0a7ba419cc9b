// The reduction of a generalized eigenproblem with B's Cholesky factor, which cuSOLVER computes only as a part of whole
// eigenproblems. By cuBLAS, block by block, as LAPACK does.
#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>

#include "blas/call.h"
#include "device/gpu/cuda/cusolver/task.h"

namespace blastoff::device::gpu::cuda {
namespace {

using lapack::Argument;

/// A step works on a block D of A's diagonal, on the panel P of A between D and the part of the diagonal that is not
/// reduced yet (itype 1) or that is reduced already, and on that part R. With F for the triangle of B at the place of
/// D, G for the one at the place of R, and Q for B's panel, and for a panel below its block (itype 1, lower):
///   D = inv(F) D inv(F)^H;  P = P inv(F)^H - Q D / 2;  R = R - P Q^H - Q P^H;  P = inv(G) (P - Q D / 2)
/// The other forms are the same from the other side, in reverse order, or with products instead of solutions.
class Reduction {
 public:
  explicit Reduction(const Task& task, const BlasHandle& blas)
      : task_(task),
        blas_(blas),
        a_(task.triangle(Argument::a)),
        b_(task.triangle(Argument::b)),
        solves_(task.problem.itype == 1),
        tall_(solves_ == (a_.part == operation::Part::lower)) {}

  Status run() {
    constexpr std::int64_t min_block = 64;
    constexpr std::int64_t largest_block = 512;
    const std::int64_t n = task_.problem.n;
    const std::int64_t order = std::clamp(n / 8 / min_block * min_block, min_block, largest_block);
    for (std::int64_t first = 0; first < n; first += order)
      if (auto ok = step(first, std::min(order, n - first)); !ok) return ok;
    return {};
  }

 private:
  Status step(std::int64_t first, std::int64_t order) {
    const std::int64_t begin = solves_ ? first + order : 0;
    const std::int64_t end = solves_ ? task_.problem.n : first;
    const Operand block = part(a_, first, order);
    const Operand factor = part(b_, first, order);
    const auto reduce_panel = [&]() -> Status {
      if (begin == end) return {};
      const Operand rest = part(a_, begin, end - begin);
      const Operand factor_of_rest = part(b_, begin, end - begin);
      const Operand panel = panel_of(a_, first, order, begin, end - begin);
      const Operand other = panel_of(b_, first, order, begin, end - begin);
      const blas::Side near = tall_ ? blas::Side::right : blas::Side::left;
      const blas::Side far = tall_ ? blas::Side::left : blas::Side::right;
      const auto by_factor = [&] { return multiply(near, blas::Transpose::conjugate, factor, panel); };
      const auto by_rest = [&] { return multiply(far, blas::Transpose::none, factor_of_rest, panel); };
      if (auto ok = solves_ ? by_factor() : by_rest(); !ok) return ok;
      if (auto ok = add_half(near, block, other, panel); !ok) return ok;
      if (auto ok = update(panel, other, rest); !ok) return ok;
      if (auto ok = add_half(near, block, other, panel); !ok) return ok;
      return solves_ ? by_rest() : by_factor();
    };
    if (solves_) {
      if (auto ok = reduce_block(block, factor); !ok) return ok;
      return reduce_panel();
    }
    if (auto ok = reduce_panel(); !ok) return ok;
    return reduce_block(block, factor);
  }

  /// From the factor of one side to the block to the factor of the other side, as full matrices.
  Status reduce_block(const Operand& block, const Operand& factor) {
    const blas::Scalar scalar = task_.problem.scalar();
    auto right = task_.solver.matrix(Solver::Purpose::matrix, block.rows, block.columns, block.element_size);
    if (!right) return tl::unexpected(right.error());
    auto reduced = task_.solver.matrix(Solver::Purpose::second_matrix, block.rows, block.columns, block.element_size);
    if (!reduced) return tl::unexpected(reduced.error());
    // inv(L)^H or inv(U) to solve, L or U^H to multiply.
    const bool adjoint = solves_ == (block.part == operation::Part::lower);
    const auto transposed = [](bool yes) { return yes ? blas::Transpose::conjugate : blas::Transpose::none; };
    if (auto ok = task_.solver.set_to_identity(*right, scalar); !ok) return ok;
    if (auto ok = multiply(blas::Side::left, transposed(adjoint), factor, *right); !ok) return ok;
    blas::Call product = symmetric_product(blas::Side::left, *reduced);
    product.alpha = 1;
    if (auto ok = run(product, {block, *right, *reduced}); !ok) return ok;
    if (auto ok = multiply(blas::Side::left, transposed(!adjoint), factor, *reduced); !ok) return ok;
    reduced->part = block.part;
    return task_.solver.copy(block, *reduced);
  }

  /// Multiplies `matrix` by the triangle, or by its inverse.
  Status multiply(blas::Side side, blas::Transpose transpose, const Operand& triangle, const Operand& matrix) {
    blas::Call call = call_of(solves_ ? blas::Kind::trsm : blas::Kind::trmm, matrix);
    call.side = side;
    call.transpose_a = transpose;
    call.alpha = 1;
    return run(call, {triangle, matrix});
  }

  blas::Call symmetric_product(blas::Side side, const Operand& result) const {
    blas::Call call = call_of(blas::is_complex(task_.problem.scalar()) ? blas::Kind::hemm : blas::Kind::symm, result);
    call.side = side;
    return call;
  }

  Status add_half(blas::Side side, const Operand& block, const Operand& other, const Operand& panel) {
    blas::Call call = symmetric_product(side, panel);
    call.alpha = solves_ ? -0.5 : 0.5;
    call.beta = 1;
    return run(call, {block, other, panel});
  }

  Status update(const Operand& panel, const Operand& other, const Operand& rest) {
    blas::Call call = call_of(blas::is_complex(task_.problem.scalar()) ? blas::Kind::her2k : blas::Kind::syr2k, rest);
    call.transpose_a = tall_ ? blas::Transpose::none : blas::Transpose::conjugate;
    call.k = tall_ ? panel.columns : panel.rows;
    call.alpha = solves_ ? -1 : 1;
    call.beta = 1;
    return run(call, {panel, other, rest});
  }

  blas::Call call_of(blas::Kind kind, const Operand& result) const {
    blas::Call call;
    call.routine = blas::routine_of(kind, task_.problem.scalar());
    call.uplo = a_.part == operation::Part::upper ? blas::Uplo::upper : blas::Uplo::lower;
    call.m = result.rows;
    call.n = result.columns;
    return call;
  }

  Status run(blas::Call& call, std::initializer_list<Operand> operands) const {
    std::array<void*, 3> addresses{};
    std::array<std::int64_t, 3> leading_dimensions{};
    std::size_t count = 0;
    for (const Operand& operand : operands) {
      addresses[count] = operand.address;
      leading_dimensions[count++] = operand.leading_dimension;
    }
    blas::shape_operands(call, {addresses.data(), count}, {leading_dimensions.data(), count});
    return blas_.run(call);
  }

  /// A square on the diagonal.
  static Operand part(const Operand& matrix, std::int64_t first, std::int64_t order) {
    Operand square = rectangle(matrix, first, order, first, order);
    square.part = matrix.part;
    return square;
  }
  /// Beside the block at `first`, in the rows or columns from `begin` on.
  Operand panel_of(const Operand& matrix, std::int64_t first, std::int64_t order, std::int64_t begin,
                   std::int64_t count) const {
    return tall_ ? rectangle(matrix, begin, count, first, order) : rectangle(matrix, first, order, begin, count);
  }
  static Operand rectangle(Operand matrix, std::int64_t row, std::int64_t rows, std::int64_t column,
                           std::int64_t columns) {
    matrix.address = static_cast<unsigned char*>(matrix.address) +
                     static_cast<std::size_t>(row + column * matrix.leading_dimension) * matrix.element_size;
    matrix.rows = rows;
    matrix.columns = columns;
    matrix.part = operation::Part::full;
    return matrix;
  }

  const Task& task_;
  const BlasHandle& blas_;
  const Operand a_;
  const Operand b_;
  const bool solves_;
  const bool tall_;  ///< panels are below or above their blocks, not beside them
};

}  // namespace

Status run_reduction(const Task& task) {
  const auto library = task.solver.cublas();
  if (!library) return tl::unexpected(library.error());
  return Reduction(task, **library).run();
}

}  // namespace blastoff::device::gpu::cuda
