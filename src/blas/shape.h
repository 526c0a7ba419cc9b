// The shapes of the operands, for a kind known at compile time. Every intercepted call computes them.
#pragma once

#include <algorithm>

#include "blas/call.h"

namespace blastoff::blas {

constexpr bool is_rank_update(Kind kind) {
  return kind == Kind::syrk || kind == Kind::herk || kind == Kind::syr2k || kind == Kind::her2k;
}
constexpr bool is_triangular_solve_or_product(Kind kind) {
  return kind == Kind::trmm || kind == Kind::trsm || is_solve_batch(kind);
}
/// Whether A is square and stands on one side of the other matrix.
constexpr bool has_side(Kind kind) {
  return kind == Kind::symm || kind == Kind::hemm || is_triangular_solve_or_product(kind);
}
/// Whether only one triangle of C is written.
constexpr bool has_triangular_result(Kind kind) {
  return is_rank_update(kind) || kind == Kind::gemmt;
}

constexpr int operand_count(Kind kind) {
  return kind == Kind::syrk || kind == Kind::herk || is_triangular_solve_or_product(kind) ? 2 : 3;
}

constexpr Part part_of(Uplo uplo) {
  return uplo == Uplo::upper ? Part::upper : Part::lower;
}

/// Sets the sizes that the routine implies. `Fields` has all members of Call but the operands.
template <Kind kind, class Fields>
[[gnu::always_inline]] inline void imply_sizes(Fields& fields) {
  if constexpr (has_triangular_result(kind)) fields.m = fields.n;
  if constexpr (has_side(kind)) fields.k = fields.side == Side::left ? fields.m : fields.n;
  if constexpr (kind == Kind::symv || kind == Kind::hemv) fields.m = fields.n;
  if constexpr (is_matrix_vector(kind)) fields.k = fields.transpose_a == Transpose::none ? fields.n : fields.m;
}

/// Makes the operands of one kind (of a batch: those of its first product); the arrays have operand_count(kind)
/// elements. Each operand is constructed in place: copying an operand that was just written would stall the processor
/// longer than everything else here takes.
template <Kind kind, class Fields>
[[gnu::always_inline]] inline std::array<Operand, 3> operands_of(const Fields& fields, std::size_t element_size,
                                                                 void* const* addresses,
                                                                 const std::int64_t* leading_dimensions) {
  const auto operand = [&](int index, std::int64_t rows, std::int64_t columns, Part part, Intent intent) {
    return Operand{addresses[index], rows, columns, leading_dimensions[index], element_size, part, intent};
  };
  const auto factor = [&](int index, std::int64_t rows, std::int64_t columns, Transpose transpose) {
    const bool transposed = transpose != Transpose::none;
    return operand(index, transposed ? columns : rows, transposed ? rows : columns, Part::full, Intent::read);
  };
  const auto result = [&](int index) {
    // The triangular kinds have no beta: if alpha is 0, B is overwritten without being read.
    const Coefficient& kept = is_triangular_solve_or_product(kind) ? fields.alpha : fields.beta;
    return operand(index, fields.m, fields.n, has_triangular_result(kind) ? part_of(fields.uplo) : Part::full,
                   kept.real() == 0 && kept.imag() == 0 ? Intent::write : Intent::update);
  };

  const auto vector = [&](int index, std::int64_t length, Intent intent) {
    return Operand{addresses[index], 1, length, leading_dimensions[index], element_size, Part::full, intent, true};
  };

  if constexpr (is_matrix_vector(kind)) {
    const bool transposed = fields.transpose_a != Transpose::none;
    const bool overwritten = fields.beta.real() == 0 && fields.beta.imag() == 0;
    return {operand(0, fields.m, fields.n, kind == Kind::gemv ? Part::full : part_of(fields.uplo), Intent::read),
            vector(1, fields.k, Intent::read),
            vector(2, transposed ? fields.n : fields.m, overwritten ? Intent::write : Intent::update)};
  } else if constexpr (is_triangular_solve_or_product(kind)) {
    // The triangles of a batch form no triangle.
    const Part part = is_batch(kind) ? Part::full : part_of(fields.uplo);
    return {operand(0, fields.k, fields.k, part, Intent::read), result(1), Operand{}};
  } else if constexpr (has_side(kind)) {
    return {operand(0, fields.k, fields.k, part_of(fields.uplo), Intent::read),
            operand(1, fields.m, fields.n, Part::full, Intent::read), result(2)};
  } else if constexpr (operand_count(kind) == 2) {
    return {factor(0, fields.m, fields.k, fields.transpose_a), result(1), Operand{}};
  } else if constexpr (is_rank_update(kind)) {
    return {factor(0, fields.m, fields.k, fields.transpose_a), factor(1, fields.m, fields.k, fields.transpose_a),
            result(2)};
  } else {
    return {factor(0, fields.m, fields.k, fields.transpose_a), factor(1, fields.k, fields.n, fields.transpose_b),
            result(2)};
  }
}

/// Calls `function.template operator()<kind>()` with `kind` as a constant.
template <class Function>
decltype(auto) with_kind(Kind kind, Function&& function) {
  switch (kind) {
    case Kind::gemm: return function.template operator()<Kind::gemm>();
    case Kind::gemmt: return function.template operator()<Kind::gemmt>();
    case Kind::symm: return function.template operator()<Kind::symm>();
    case Kind::hemm: return function.template operator()<Kind::hemm>();
    case Kind::syrk: return function.template operator()<Kind::syrk>();
    case Kind::herk: return function.template operator()<Kind::herk>();
    case Kind::syr2k: return function.template operator()<Kind::syr2k>();
    case Kind::her2k: return function.template operator()<Kind::her2k>();
    case Kind::trmm: return function.template operator()<Kind::trmm>();
    case Kind::gemv: return function.template operator()<Kind::gemv>();
    case Kind::symv: return function.template operator()<Kind::symv>();
    case Kind::hemv: return function.template operator()<Kind::hemv>();
    case Kind::gemm_batch: return function.template operator()<Kind::gemm_batch>();
    case Kind::gemm_batch_strided: return function.template operator()<Kind::gemm_batch_strided>();
    case Kind::trsm_batch: return function.template operator()<Kind::trsm_batch>();
    case Kind::trsm_batch_strided: return function.template operator()<Kind::trsm_batch_strided>();
    case Kind::trsm: break;
  }
  return function.template operator()<Kind::trsm>();
}

}  // namespace blastoff::blas
