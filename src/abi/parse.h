// Converts raw arguments to a Call. Every intercepted call is parsed here, so each argument is read once, and the Call
// is written once.
#pragma once

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "abi/arguments.h"
#include "blas/batch.h"
#include "blas/call.h"
#include "blas/shape.h"

namespace blastoff::abi {
namespace detail {

template <class T>
T load(const void* address) {
  T value;
  std::memcpy(&value, address, sizeof(T));
  return value;
}

}  // namespace detail

/// Reads a size or an increment, as Fortran or CBLAS passes it.
template <class Integer>
std::int64_t size_of(const void* address) {
  return detail::load<Integer>(address);
}
template <class Integer>
std::int64_t size_of(std::int64_t slot) {
  return static_cast<Integer>(slot);
}

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

/// Parses an option of two values. `first` and `second` are their letters or enumerators.
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
blas::Coefficient parse_coefficient(const void* address) {
  return load<T>(address);
}
template <class T>
blas::Coefficient parse_coefficient(T value) {
  return value;
}

/// The parsed arguments, before they become a Call.
struct Fields {
  blas::Side side = blas::Side::left;
  blas::Uplo uplo = blas::Uplo::upper;
  blas::Transpose transpose_a = blas::Transpose::none;
  blas::Transpose transpose_b = blas::Transpose::none;
  blas::Diagonal diagonal = blas::Diagonal::non_unit;
  bool reversed_x = false;
  bool reversed_y = false;
  bool conjugated = false;
  bool row_major = false;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  blas::Coefficient alpha{};
  blas::Coefficient beta{};
  void* addresses[3]{};
  std::int64_t leading_dimensions[3]{};
  std::int64_t strides[3]{};  ///< batches: elements from a matrix to the next
  std::int64_t products = 1;
};

/// Returns the absolute value of an increment; 0, which is invalid, if it cannot be represented.
constexpr std::int64_t size_of_increment(std::int64_t increment) {
  if (increment >= 0) return increment;
  return increment == std::numeric_limits<std::int64_t>::min() ? 0 : -increment;
}

template <blas::Kind kind, blas::Scalar scalar, class Integer, Argument argument, class T>
[[gnu::always_inline]] inline bool take(Fields& fields, T value) {
  if constexpr (argument == Argument::order) {
    fields.row_major = value == Cblas::row_major;
    return fields.row_major || value == Cblas::column_major;
  } else if constexpr (argument == Argument::side) {
    return parse_option(value, fields.side);
  } else if constexpr (argument == Argument::uplo) {
    return parse_option(value, fields.uplo);
  } else if constexpr (argument == Argument::transpose_a) {
    return parse_option(value, fields.transpose_a);
  } else if constexpr (argument == Argument::transpose_b) {
    return parse_option(value, fields.transpose_b);
  } else if constexpr (argument == Argument::diagonal) {
    return parse_option(value, fields.diagonal);
  } else if constexpr (argument == Argument::m) {
    fields.m = size_of<Integer>(value);
  } else if constexpr (argument == Argument::n) {
    fields.n = size_of<Integer>(value);
  } else if constexpr (argument == Argument::k) {
    fields.k = size_of<Integer>(value);
  } else if constexpr (argument == Argument::alpha) {
    fields.alpha = parse_coefficient<CoefficientType<kind, scalar, argument>>(value);
  } else if constexpr (argument == Argument::beta) {
    fields.beta = parse_coefficient<CoefficientType<kind, scalar, argument>>(value);
  } else if constexpr (is_increment(argument)) {
    const std::int64_t increment = size_of<Integer>(value);
    (argument == Argument::incx ? fields.reversed_x : fields.reversed_y) = increment < 0;
    fields.leading_dimensions[operand_index(kind, argument)] = size_of_increment(increment);
  } else if constexpr (is_stride(argument)) {
    fields.strides[operand_index(kind, argument)] = size_of<Integer>(value);
  } else if constexpr (argument == Argument::products) {
    fields.products = size_of<Integer>(value);
  } else if constexpr (is_size(argument)) {
    fields.leading_dimensions[operand_index(kind, argument)] = size_of<Integer>(value);
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

/// Expresses y = op(A) x by the transpose of A. If op(A) is A^H, or A is Hermitian, the stored matrix becomes conj(A).
template <blas::Kind kind, blas::Scalar scalar>
[[gnu::always_inline]] inline void transpose_matrix(Fields& fields) {
  constexpr bool complex = blas::is_complex(scalar);
  if constexpr (kind == blas::Kind::gemv) {
    fields.conjugated = complex && fields.transpose_a == blas::Transpose::conjugate;
    fields.transpose_a =
        fields.transpose_a == blas::Transpose::none ? blas::Transpose::transpose : blas::Transpose::none;
    std::swap(fields.m, fields.n);
  } else {
    fields.conjugated = complex;
    fields.uplo = flipped(fields.uplo);
  }
}

/// Restates the call for the transposed matrices: a row-major matrix is the transpose of a column-major one.
template <blas::Kind kind, blas::Scalar scalar>
[[gnu::always_inline]] inline void transpose_all(Fields& fields) {
  if constexpr (blas::is_matrix_vector(kind)) return transpose_matrix<kind, scalar>(fields);
  constexpr bool general = kind == blas::Kind::gemm || blas::is_product_batch(kind);
  if constexpr (!general) fields.uplo = flipped(fields.uplo);
  if constexpr (general || kind == blas::Kind::gemmt) {
    std::swap(fields.strides[0], fields.strides[1]);
    std::swap(fields.transpose_a, fields.transpose_b);
    std::swap(fields.addresses[0], fields.addresses[1]);
    std::swap(fields.leading_dimensions[0], fields.leading_dimensions[1]);
  }
  if constexpr (blas::is_rank_update(kind)) {
    constexpr bool hermitian = kind == blas::Kind::herk || kind == blas::Kind::her2k;
    constexpr auto opposite = hermitian ? blas::Transpose::conjugate : blas::Transpose::transpose;
    fields.transpose_a = fields.transpose_a == blas::Transpose::none ? opposite : blas::Transpose::none;
  } else if constexpr (kind != blas::Kind::gemmt) {
    std::swap(fields.m, fields.n);
  }
  if constexpr (blas::has_side(kind)) fields.side = flipped(fields.side);
  if constexpr (kind == blas::Kind::her2k) fields.alpha = std::conj(fields.alpha);
}

/// Whether the routine accepts a transpose. To be checked before transpose_all(), which could turn an illegal value
/// into a legal one.
template <blas::Kind kind, blas::Scalar scalar>
constexpr bool transpose_exists(blas::Transpose transpose) {
  if (kind == blas::Kind::herk || kind == blas::Kind::her2k) return transpose != blas::Transpose::transpose;
  if (!blas::is_complex(scalar)) return true;
  return (kind != blas::Kind::syrk && kind != blas::Kind::syr2k) || transpose != blas::Transpose::conjugate;
}

/// Writes the Call for arguments that have been read.
template <Style style, blas::Kind kind, blas::Scalar scalar>
[[gnu::always_inline]] inline bool state(blas::Call* call, blas::Routine routine, Fields& fields) {
  if (!transpose_exists<kind, scalar>(fields.transpose_a)) return false;
  if (style == Style::cblas && fields.row_major) transpose_all<kind, scalar>(fields);
  blas::imply_sizes<kind>(fields);
  ::new (static_cast<void*>(call))
      blas::Call{routine,
                 fields.side,
                 fields.uplo,
                 fields.transpose_a,
                 fields.transpose_b,
                 fields.diagonal,
                 fields.reversed_x,
                 fields.reversed_y,
                 fields.conjugated,
                 fields.m,
                 fields.n,
                 fields.k,
                 fields.alpha,
                 fields.beta,
                 blas::operands_of<kind>(fields, sizeof(Element<scalar>), fields.addresses, fields.leading_dimensions),
                 blas::operand_count(kind)};
  if constexpr (blas::is_batch(kind)) {
    call->products = fields.products;
    blas::stack(*call, fields.strides);
  }
  return true;
}

template <Style style, blas::Kind kind, blas::Scalar scalar, class Integer, Argument... arguments>
[[gnu::always_inline]] inline bool parse(blas::Call* call, blas::Routine routine, ArgumentList<arguments...>,
                                         ParameterType<style, kind, scalar, arguments>... values) {
  Fields fields;
  if (!(take<kind, scalar, Integer, arguments>(fields, values) && ...)) return false;
  return state<style, kind, scalar>(call, routine, fields);
}

}  // namespace detail

/// Parses a letter or an enumerator. Returns false if it is not an option of that kind.
template <class Given, class Option>
bool parse_option(Given given, Option& option) {
  return detail::parse_option(given, option);
}

/// Writes a Call to the memory at `call`, which is not read. Returns false if an option is unknown or the routine does
/// not accept the transpose; the original then reports the error. `Integer` is the program's integer type, std::int32_t
/// or std::int64_t.
template <Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
[[gnu::always_inline]] inline bool parse(blas::Call* call, blas::Routine routine, Values... values) {
  return detail::parse<style, kind, scalar, Integer>(call, routine, Arguments<style, kind>{}, values...);
}

}  // namespace blastoff::abi
