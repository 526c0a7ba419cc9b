// The argument lists of the BLAS routines in both calling styles. Function types, parsing and calls of the originals
// are generated from them.
//
// CBLAS passes the Fortran arguments in the same order, after a storage order. Fortran compilers append the length of
// each character argument. Fortran passes sizes by reference. CBLAS passes them by value: on every 64-bit ABI of Linux
// they fill a whole register or stack slot, so one function type serves 32-bit and 64-bit integers.
//
// gemm_batch and trsm_batch take an array in place of each argument of gemm or trsm. The arrays of matrices have an
// element for each product or solve, the others one for each group of those with the same sizes.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "abi/convention.h"
#include "blas/shape.h"
#include "blas/types.h"

namespace blastoff::abi {

enum class Argument : std::uint8_t {
  order,
  side,
  uplo,
  transpose_a,
  transpose_b,
  diagonal,
  m,
  n,
  k,
  alpha,
  a,
  lda,
  b,
  ldb,
  beta,
  c,
  ldc,
  x,
  incx,
  y,
  incy,
  stride_a,
  stride_b,
  stride_c,
  products,
  group_count,
  group_size,
  length,
};

template <Argument... arguments>
struct ArgumentList {};

constexpr bool is_size(Argument argument) {
  using enum Argument;
  return argument == m || argument == n || argument == k || argument == lda || argument == ldb || argument == ldc ||
         argument == incx || argument == incy || argument == stride_a || argument == stride_b || argument == stride_c ||
         argument == products || argument == group_count;
}

constexpr bool is_stride(Argument argument) {
  return argument == Argument::stride_a || argument == Argument::stride_b || argument == Argument::stride_c;
}

constexpr bool is_increment(Argument argument) {
  return argument == Argument::incx || argument == Argument::incy;
}

namespace detail {

using enum Argument;

template <blas::Kind kind>
constexpr auto argument_list() {
  using blas::Kind;
  if constexpr (kind == Kind::gemm) {
    return ArgumentList<transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc>{};
  } else if constexpr (kind == Kind::gemm_batch) {
    return ArgumentList<transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, group_count,
                        group_size>{};
  } else if constexpr (kind == Kind::gemm_batch_strided) {
    return ArgumentList<transpose_a, transpose_b, m, n, k, alpha, a, lda, stride_a, b, ldb, stride_b, beta, c, ldc,
                        stride_c, products>{};
  } else if constexpr (kind == Kind::trsm_batch) {
    return ArgumentList<side, uplo, transpose_a, diagonal, m, n, alpha, a, lda, b, ldb, group_count, group_size>{};
  } else if constexpr (kind == Kind::trsm_batch_strided) {
    return ArgumentList<side, uplo, transpose_a, diagonal, m, n, alpha, a, lda, stride_a, b, ldb, stride_b, products>{};
  } else if constexpr (kind == Kind::gemmt) {
    return ArgumentList<uplo, transpose_a, transpose_b, n, k, alpha, a, lda, b, ldb, beta, c, ldc>{};
  } else if constexpr (kind == Kind::symm || kind == Kind::hemm) {
    return ArgumentList<side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc>{};
  } else if constexpr (kind == Kind::syrk || kind == Kind::herk) {
    return ArgumentList<uplo, transpose_a, n, k, alpha, a, lda, beta, c, ldc>{};
  } else if constexpr (kind == Kind::syr2k || kind == Kind::her2k) {
    return ArgumentList<uplo, transpose_a, n, k, alpha, a, lda, b, ldb, beta, c, ldc>{};
  } else if constexpr (kind == Kind::gemv) {
    return ArgumentList<transpose_a, m, n, alpha, a, lda, x, incx, beta, y, incy>{};
  } else if constexpr (kind == Kind::symv || kind == Kind::hemv) {
    return ArgumentList<uplo, n, alpha, a, lda, x, incx, beta, y, incy>{};
  } else {
    return ArgumentList<side, uplo, transpose_a, diagonal, m, n, alpha, a, lda, b, ldb>{};
  }
}

constexpr bool is_option(Argument argument) {
  return argument == side || argument == uplo || argument == transpose_a || argument == transpose_b ||
         argument == diagonal;
}

template <Argument... arguments>
constexpr auto with_order(ArgumentList<arguments...>) {
  return ArgumentList<order, arguments...>{};
}

template <Argument... arguments>
constexpr auto with_lengths(ArgumentList<arguments...>) {
  constexpr int options = (static_cast<int>(is_option(arguments)) + ...);
  if constexpr (options == 1) return ArgumentList<arguments..., length>{};
  if constexpr (options == 2) return ArgumentList<arguments..., length, length>{};
  if constexpr (options == 3) return ArgumentList<arguments..., length, length, length>{};
  if constexpr (options == 4) return ArgumentList<arguments..., length, length, length, length>{};
}

template <Style style, blas::Kind kind>
constexpr auto full_argument_list() {
  if constexpr (style == Style::cblas) {
    return with_order(argument_list<kind>());
  } else {
    return with_lengths(argument_list<kind>());
  }
}

template <blas::Scalar scalar>
constexpr auto element() {
  if constexpr (scalar == blas::Scalar::s) return float{};
  if constexpr (scalar == blas::Scalar::d) return double{};
  if constexpr (scalar == blas::Scalar::c) return std::complex<float>{};
  if constexpr (scalar == blas::Scalar::z) return std::complex<double>{};
}

template <blas::Kind kind, blas::Scalar scalar, Argument argument>
constexpr auto coefficient() {
  using T = decltype(element<scalar>());
  constexpr bool real = kind == blas::Kind::herk || (kind == blas::Kind::her2k && argument == beta);
  if constexpr (real && blas::is_complex(scalar)) {
    return typename T::value_type{};
  } else {
    return T{};
  }
}

template <Style style, blas::Kind kind, blas::Scalar scalar, Argument argument>
constexpr auto parameter() {
  constexpr bool fortran = style == Style::fortran;
  constexpr bool array = blas::is_grouped(kind) && argument != order && argument != group_count;
  if constexpr (argument == length) {
    return std::type_identity<std::size_t>{};
  } else if constexpr (array) {
    return std::type_identity<const void*>{};
  } else if constexpr (is_option(argument) || argument == order) {
    return std::type_identity<std::conditional_t<fortran, const char*, int>>{};
  } else if constexpr (is_size(argument)) {
    return std::type_identity<std::conditional_t<fortran, const void*, std::int64_t>>{};
  } else if constexpr (argument == alpha || argument == beta) {
    using T = decltype(coefficient<kind, scalar, argument>());
    return std::type_identity<std::conditional_t<fortran || !std::is_arithmetic_v<T>, const void*, T>>{};
  } else {
    return std::type_identity<void*>{};
  }
}

template <Style style, blas::Kind kind, blas::Scalar scalar, Argument... arguments>
constexpr auto function_type(ArgumentList<arguments...>) {
  return std::type_identity<void(typename decltype(parameter<style, kind, scalar, arguments>())::type...)>{};
}

template <Style style, blas::Kind kind, blas::Scalar scalar, Argument... arguments>
constexpr auto tuple_type(ArgumentList<arguments...>) {
  return std::type_identity<std::tuple<typename decltype(parameter<style, kind, scalar, arguments>())::type...>>{};
}

}  // namespace detail

/// The arguments of a kind, in the order of a calling style.
template <Style style, blas::Kind kind>
using Arguments = decltype(detail::full_argument_list<style, kind>());

/// float, double or a std::complex of these.
template <blas::Scalar scalar>
using Element = decltype(detail::element<scalar>());

/// The type of alpha or beta in memory: Element, or its real type if the standard has a real coefficient.
template <blas::Kind kind, blas::Scalar scalar, Argument argument>
using CoefficientType = decltype(detail::coefficient<kind, scalar, argument>());

template <Style style, blas::Kind kind, blas::Scalar scalar, Argument argument>
using ParameterType = typename decltype(detail::parameter<style, kind, scalar, argument>())::type;

/// The C type of a routine; the types of its parameters as a tuple.
template <Style style, blas::Kind kind, blas::Scalar scalar>
using FunctionType = typename decltype(detail::function_type<style, kind, scalar>(Arguments<style, kind>{}))::type;
template <Style style, blas::Kind kind, blas::Scalar scalar>
using ParameterTuple = typename decltype(detail::tuple_type<style, kind, scalar>(Arguments<style, kind>{}))::type;

/// Returns the number of the operand to which an address, leading dimension or increment belongs.
constexpr std::size_t operand_index(blas::Kind kind, Argument argument) {
  if (argument == Argument::a || argument == Argument::lda || argument == Argument::stride_a) return 0;
  if (argument == Argument::b || argument == Argument::ldb || argument == Argument::stride_b) return 1;
  if (argument == Argument::x || argument == Argument::incx) return 1;
  return static_cast<std::size_t>(blas::operand_count(kind)) - 1;
}

/// Returns the index of an argument in a list that contains it.
template <Argument... arguments>
constexpr std::size_t position(Argument argument, ArgumentList<arguments...>) {
  std::size_t index = 0;
  for (const Argument each : {arguments...}) {
    if (each == argument) break;
    ++index;
  }
  return index;
}

/// The values of the enumerations of CBLAS.
struct Cblas {
  static constexpr int row_major = 101;
  static constexpr int column_major = 102;
  static constexpr int no_transpose = 111;
  static constexpr int transpose = 112;
  static constexpr int conjugate_transpose = 113;
  static constexpr int upper = 121;
  static constexpr int lower = 122;
  static constexpr int non_unit = 131;
  static constexpr int unit = 132;
  static constexpr int left = 141;
  static constexpr int right = 142;
};

}  // namespace blastoff::abi
