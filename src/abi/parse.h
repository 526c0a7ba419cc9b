// From raw arguments to a Call. Every intercepted call runs through here: it is all inlined into the exported function.
#pragma once

#include <cstring>
#include <utility>

#include "abi/arguments.h"
#include "blas/call.h"
#include "blas/shape.h"

namespace blastoff::abi {
namespace detail {

inline bool parse_option(char letter, blas::Transpose& value) {
  switch (letter | 0x20) {
    case 'n': value = blas::Transpose::none; return true;
    case 't': value = blas::Transpose::transpose; return true;
    case 'c': value = blas::Transpose::conjugate; return true;
    default: return false;
  }
}

inline bool parse_option(int enumerator, blas::Transpose& value) {
  const auto index = static_cast<unsigned>(enumerator - Cblas::no_transpose);
  value = static_cast<blas::Transpose>(index);
  return index <= 2;
}

/// Options of two values: `first` and `second` as letters or enumerators.
template <class Option>
bool parse_either(int given, int first, int second, Option& value) {
  value = static_cast<Option>(given != first);
  return given == first || given == second;
}

inline bool parse_option(char letter, blas::Uplo& value) {
  return parse_either(letter | 0x20, 'u', 'l', value);
}
inline bool parse_option(int enumerator, blas::Uplo& value) {
  return parse_either(enumerator, Cblas::upper, Cblas::lower, value);
}
inline bool parse_option(char letter, blas::Side& value) {
  return parse_either(letter | 0x20, 'l', 'r', value);
}
inline bool parse_option(int enumerator, blas::Side& value) {
  return parse_either(enumerator, Cblas::left, Cblas::right, value);
}
inline bool parse_option(char letter, blas::Diagonal& value) {
  return parse_either(letter | 0x20, 'n', 'u', value);
}
inline bool parse_option(int enumerator, blas::Diagonal& value) {
  return parse_either(enumerator, Cblas::non_unit, Cblas::unit, value);
}
template <class Option>
bool parse_option(const char* letter, Option& value) {
  return parse_option(*letter, value);
}

template <class T>
T load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

template <class Integer>
std::int64_t parse_size(const void* address) {
  return load<Integer>(address);
}
template <class Integer>
std::int64_t parse_size(std::int64_t slot) {
  return static_cast<Integer>(slot);
}

template <class T>
blas::Coefficient parse_coefficient(const void* address) {
  return load<T>(address);
}
template <class T>
blas::Coefficient parse_coefficient(T value) {
  return value;
}

/// Option, size and coefficient fields of the Call, plus what shape() needs.
struct Fields {
  blas::Call& call;
  void* addresses[3];
  std::int64_t leading_dimensions[3];
  bool row_major = false;
};

template <blas::Kind kind, blas::Scalar scalar, class Integer, Argument argument, class T>
[[gnu::always_inline]] inline bool take(Fields& fields, T value) {
  blas::Call& call = fields.call;
  if constexpr (argument == Argument::order) {
    fields.row_major = value == Cblas::row_major;
    return fields.row_major || value == Cblas::column_major;
  } else if constexpr (argument == Argument::side) {
    return parse_option(value, call.side);
  } else if constexpr (argument == Argument::uplo) {
    return parse_option(value, call.uplo);
  } else if constexpr (argument == Argument::transpose_a) {
    return parse_option(value, call.transpose_a);
  } else if constexpr (argument == Argument::transpose_b) {
    return parse_option(value, call.transpose_b);
  } else if constexpr (argument == Argument::diagonal) {
    return parse_option(value, call.diagonal);
  } else if constexpr (argument == Argument::m) {
    call.m = parse_size<Integer>(value);
  } else if constexpr (argument == Argument::n) {
    call.n = parse_size<Integer>(value);
  } else if constexpr (argument == Argument::k) {
    call.k = parse_size<Integer>(value);
  } else if constexpr (argument == Argument::alpha) {
    call.alpha = parse_coefficient<CoefficientType<kind, scalar, argument>>(value);
  } else if constexpr (argument == Argument::beta) {
    call.beta = parse_coefficient<CoefficientType<kind, scalar, argument>>(value);
  } else if constexpr (is_size(argument)) {
    fields.leading_dimensions[operand_index(kind, argument)] = parse_size<Integer>(value);
  } else if constexpr (argument != Argument::length) {
    fields.addresses[operand_index(kind, argument)] = value;
  }
  return true;
}

constexpr blas::Uplo flipped(blas::Uplo uplo) {
  return uplo == blas::Uplo::upper ? blas::Uplo::lower : blas::Uplo::upper;
}
constexpr blas::Side flipped(blas::Side side) {
  return side == blas::Side::left ? blas::Side::right : blas::Side::left;
}

/// A row-major matrix is its transpose in column-major order: states the call for the transposed matrices.
template <blas::Kind kind>
void transpose_all(Fields& fields) {
  blas::Call& call = fields.call;
  if constexpr (kind != blas::Kind::gemm) call.uplo = flipped(call.uplo);
  if constexpr (kind == blas::Kind::gemm || kind == blas::Kind::gemmt) {
    std::swap(call.transpose_a, call.transpose_b);
    std::swap(fields.addresses[0], fields.addresses[1]);
    std::swap(fields.leading_dimensions[0], fields.leading_dimensions[1]);
  }
  if constexpr (blas::is_rank_update(kind)) {
    constexpr bool hermitian = kind == blas::Kind::herk || kind == blas::Kind::her2k;
    constexpr auto opposite = hermitian ? blas::Transpose::conjugate : blas::Transpose::transpose;
    call.transpose_a = call.transpose_a == blas::Transpose::none ? opposite : blas::Transpose::none;
  } else if constexpr (kind != blas::Kind::gemmt) {
    std::swap(call.m, call.n);
  }
  if constexpr (blas::has_side(kind)) call.side = flipped(call.side);
  if constexpr (kind == blas::Kind::her2k) call.alpha = std::conj(call.alpha);
}

/// Whether the routine has that transpose at all; to be known before transpose_all makes a legal one of it.
template <blas::Kind kind, blas::Scalar scalar>
constexpr bool transpose_exists(blas::Transpose transpose) {
  if (kind == blas::Kind::herk || kind == blas::Kind::her2k) return transpose != blas::Transpose::transpose;
  if (!blas::is_complex(scalar)) return true;
  return (kind != blas::Kind::syrk && kind != blas::Kind::syr2k) || transpose != blas::Transpose::conjugate;
}

template <Style style, blas::Kind kind, blas::Scalar scalar, class Integer, Argument... arguments>
[[gnu::always_inline]] inline bool parse(blas::Call& call, ArgumentList<arguments...>,
                                         ParameterType<style, kind, scalar, arguments>... values) {
  Fields fields{call, {}, {}};
  if (!(take<kind, scalar, Integer, arguments>(fields, values) && ...)) return false;
  if (!transpose_exists<kind, scalar>(call.transpose_a)) return false;
  if (style == Style::cblas && fields.row_major) transpose_all<kind>(fields);
  blas::shape<kind>(call, sizeof(Element<scalar>), fields.addresses, fields.leading_dimensions);
  return true;
}

}  // namespace detail

/// Fills a default Call whose routine is set. False where an option cannot be understood or a transpose is none of the
/// routine's: only the original knows what to say about it. `Integer` is what the program passes: std::int32_t or _64.
template <Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
[[gnu::always_inline]] inline bool parse(blas::Call& call, Values... values) {
  return detail::parse<style, kind, scalar, Integer>(call, Arguments<style, kind>{}, values...);
}

}  // namespace blastoff::abi
