// The shapes of the operands, for a kind known at compile time: what every intercepted call pays for.
#pragma once

#include <algorithm>

#include "blas/call.h"

namespace blastoff::blas {

constexpr bool is_rank_update(Kind kind) {
  return kind == Kind::syrk || kind == Kind::herk || kind == Kind::syr2k || kind == Kind::her2k;
}
constexpr bool is_triangular_solve_or_product(Kind kind) {
  return kind == Kind::trmm || kind == Kind::trsm;
}
/// Kinds whose A is square and stands on one side of the other matrix.
constexpr bool has_side(Kind kind) {
  return kind == Kind::symm || kind == Kind::hemm || is_triangular_solve_or_product(kind);
}
/// Kinds that write one triangle of C only.
constexpr bool has_triangular_result(Kind kind) {
  return is_rank_update(kind) || kind == Kind::gemmt;
}

constexpr int operand_count(Kind kind) {
  return kind == Kind::syrk || kind == Kind::herk || is_triangular_solve_or_product(kind) ? 2 : 3;
}

constexpr Part part_of(Uplo uplo) {
  return uplo == Uplo::upper ? Part::upper : Part::lower;
}

/// shape_operands of one kind; arrays of operand_count(kind) elements.
template <Kind kind>
inline void shape(Call& call, std::size_t element_size, void* const* addresses,
                  const std::int64_t* leading_dimensions) {
  constexpr int count = operand_count(kind);
  if constexpr (has_triangular_result(kind)) call.m = call.n;
  if constexpr (has_side(kind)) call.k = call.side == Side::left ? call.m : call.n;
  call.operand_count = count;
  const auto set = [&](int index, std::int64_t rows, std::int64_t columns, Part part, Intent intent) {
    call.operand_storage[static_cast<std::size_t>(index)] = {addresses[index], rows, columns, leading_dimensions[index],
                                                             element_size,     part, intent};
  };
  const auto set_product_operand = [&](int index, std::int64_t rows, std::int64_t columns, bool transposed) {
    set(index, transposed ? columns : rows, transposed ? rows : columns, Part::full, Intent::read);
  };

  if constexpr (has_side(kind)) {
    set(0, call.k, call.k, part_of(call.uplo), Intent::read);
    if constexpr (count == 3) set(1, call.m, call.n, Part::full, Intent::read);
  } else {
    const bool transposed_a = call.transpose_a != Transpose::none;
    set_product_operand(0, call.m, call.k, transposed_a);
    if constexpr (kind == Kind::gemm || kind == Kind::gemmt) {
      set_product_operand(1, call.k, call.n, call.transpose_b != Transpose::none);
    } else if constexpr (count == 3) {
      set_product_operand(1, call.m, call.k, transposed_a);
    }
  }
  // The triangular kinds have no beta: B is overwritten unread when alpha is 0.
  const Coefficient kept = is_triangular_solve_or_product(kind) ? call.alpha : call.beta;
  const Intent intent = kept.real() == 0 && kept.imag() == 0 ? Intent::write : Intent::update;
  set(count - 1, call.m, call.n, has_triangular_result(kind) ? part_of(call.uplo) : Part::full, intent);
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
    case Kind::trsm: break;
  }
  return function.template operator()<Kind::trsm>();
}

}  // namespace blastoff::blas
