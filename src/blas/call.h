// One call of a BLAS routine, independent of calling conventions: always column-major, with 64-bit sizes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "blas/routine.h"
#include "blas/types.h"
#include "operation/operation.h"

namespace blastoff::blas {

using operation::Intent;
using operation::Operand;
using operation::Part;
using operation::reads;
using operation::writes;

/// How the matrices of one operand of a batch lie in memory. If there is a box of memory that holds them and nothing
/// else, it is the operand: a stack.
enum class Stacking : std::uint8_t {
  one,        ///< all products use the same matrix, which is the operand
  beside,     ///< the columns of a matrix follow those of the one before it
  below,      ///< the rows of a matrix lie below those of the one before it, in the same columns
  apart,      ///< the elements of each matrix are one column of the stack
  scattered,  ///< there is no such box: the operand is the matrix of the first product, and only the CPU can compute
};

/// Options, sizes, coefficients and operands, with the names of the BLAS standard. Options that a routine lacks keep
/// their defaults. The operands are in the order of the argument list:
///   gemm, gemmt, symm, hemm, syr2k, her2k: A, B, C;   syrk, herk: A, C;   trmm, trsm: A, B;
///   gemv, symv, hemv: A, x, y;   batches: stacks of the operands of gemm or trsm (see blas/batch.h).
/// The last operand is the result. A vector is a matrix of one row whose leading dimension is the absolute value of its
/// increment: the memory between its elements does not belong to it.
struct Call {
  Routine routine{};
  Side side = Side::left;                   ///< symm, hemm, trmm, trsm, batches of solves
  Uplo uplo = Uplo::upper;                  ///< all but gemm, gemv, batches of products
  Transpose transpose_a = Transpose::none;  ///< all but symm, hemm, symv, hemv (`trans` of the rank-k updates)
  Transpose transpose_b = Transpose::none;  ///< gemm, gemmt, batches of products
  Diagonal diagonal = Diagonal::non_unit;   ///< trmm, trsm, batches of solves
  bool reversed_x = false;  ///< gemv, symv, hemv: the increment of x is negative, so the last element comes first
  bool reversed_y = false;  ///< gemv, symv, hemv: the increment of y is negative
  bool conjugated = false;  ///< gemv, hemv by rows: A is to be replaced by conj(A). No library computes that
  std::int64_t m = 0;       ///< rows of the result (the rank-k updates: equal to n); gemv: rows of A
  std::int64_t n = 0;       ///< columns of the result; gemv, symv, hemv: columns of A
  std::int64_t k = 0;       ///< inner dimension; for symm, hemm, trmm, trsm the order of A; the length of x
  Coefficient alpha{};
  Coefficient beta{};  ///< not used by trmm, trsm
  std::array<Operand, 3> operand_storage{};
  int operand_count = 0;
  std::int64_t products = 1;           ///< batches: number of products or solves, each of m, n and k
  std::array<Stacking, 3> stacking{};  ///< batches: for each operand

  std::span<Operand> operands() { return {operand_storage.data(), static_cast<std::size_t>(operand_count)}; }
  std::span<const Operand> operands() const {
    return {operand_storage.data(), static_cast<std::size_t>(operand_count)};
  }
  Operand& result() { return operand_storage[static_cast<std::size_t>(operand_count) - 1]; }
  const Operand& result() const { return operand_storage[static_cast<std::size_t>(operand_count) - 1]; }

  Kind kind() const { return row(routine).kind; }
  Scalar scalar() const { return row(routine).scalar; }

  /// The call as an operation, which the other modules use (blas/front_end.h).
  operator operation::Operation() const;  // NOLINT(google-explicit-constructor): a call is an operation
};

/// Fills in the operands' rows, columns, parts and intents from routine, options, sizes and beta, which must be set.
/// `addresses` and `leading_dimensions` are in the order of the arguments (two or three). Also sets m and k if the
/// routine implies them (see Call).
void shape_operands(Call& call, std::span<void* const> addresses, std::span<const std::int64_t> leading_dimensions);

/// Whether the standard allows the arguments: no size is negative, leading dimensions are large enough, options are
/// legal for the routine (csyrk has no conjugate, cherk no plain transpose). An invalid call goes to the original,
/// which reports the error.
bool valid(const Call& call);

/// Whether no product is formed (an empty result, alpha == 0, k == 0, no product in a batch). Such a call at most
/// scales C, for which a device never pays.
bool trivial(const Call& call);

/// Floating-point operations, by LAPACK Working Note 41 (complex: 6 per multiplication, 2 per addition). For a batch,
/// those of one product.
inline double flops(Kind kind, Scalar scalar, Side side, std::int64_t rows, std::int64_t columns, std::int64_t inner) {
  const double m = static_cast<double>(rows);
  const double n = static_cast<double>(columns);
  const double k = static_cast<double>(inner);
  const auto count = [&](double multiplications, double additions) {
    return is_complex(scalar) ? 6 * multiplications + 2 * additions : multiplications + additions;
  };
  switch (kind) {
    case Kind::gemm:
    case Kind::gemm_batch:
    case Kind::gemm_batch_strided:
    case Kind::symm:
    case Kind::hemm: return count(m * n * k, m * n * k);
    case Kind::gemmt:
    case Kind::syrk:
    case Kind::herk: return count(k * n * (n + 1) / 2, k * n * (n + 1) / 2);
    case Kind::syr2k:
    case Kind::her2k: return count(k * n * n, k * n * n + n);
    case Kind::gemv:
    case Kind::symv:
    case Kind::hemv: return count(m * n, m * n);
    case Kind::trmm:
    case Kind::trsm:
    case Kind::trsm_batch:
    case Kind::trsm_batch_strided: {
      const double other = side == Side::left ? n : m;
      return count(other * k * (k + 1) / 2, other * k * (k - 1) / 2);
    }
  }
  return 0;
}
double flops(const Call& call);

/// Returns a number that is equal for calls of a routine that read and write matrices of the same sizes. Products of a
/// matrix and a vector have it in common whatever their sizes: programs make them with ever other parts of a matrix.
std::uint64_t likeness(const Call& call);

/// The product of the three sides of the operation: m n k for gemm, added up over the products of a batch; for symm,
/// hemm, trmm, trsm the order of A counts twice; for rank-k updates and gemmt n counts twice. The threshold test
/// compares it with the cube of a size, because a cube root takes time. For a product of a matrix and a vector it is
/// half the bytes of the matrix: with a threshold of 250, a matrix of less than 31 MB stays on the CPU. Such a matrix
/// fits a CPU's caches, from which it is read in the time that a call takes to reach a device.
inline double volume(Kind kind, std::int64_t m, std::int64_t n, std::int64_t k, std::size_t element_bytes) {
  const double area = static_cast<double>(m) * static_cast<double>(n);
  return area * (is_matrix_vector(kind) ? 0.5 * static_cast<double>(element_bytes) : static_cast<double>(k));
}
inline double volume(const Call& call) {
  return static_cast<double>(call.products) * volume(call.kind(), call.m, call.n, call.k, element_size(call.scalar()));
}

/// Multiplications per element of the result: k for gemm and rank-k updates, the order of A for symm, trmm, trsm, the
/// length of x for gemv, symv, hemv.
inline double depth(const Call& call) {
  if (is_matrix_vector(call.kind())) return static_cast<double>(call.k);
  return volume(call) / (static_cast<double>(call.result().rows) * static_cast<double>(call.result().columns));
}

}  // namespace blastoff::blas
