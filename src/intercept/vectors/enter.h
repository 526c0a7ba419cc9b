// The common path of all hooks and names of level 1. Nearly all calls jump to the original at once.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>
#include <type_traits>

#include "abi/vector_routine.h"
#include "blas/integer.h"
#include "intercept/original.h"
#include "intercept/vectors/dispatch.h"
#include "platform/left_memory.h"

namespace blastoff::intercept {
namespace vectors {

using abi::Style;
using blas::VectorKind;

inline std::int64_t read_size(const void* address, bool wide) {
  return blas::integer_at(address, wide ? 8 : 4);
}

/// The upper half of a register that holds 32 bits is undefined.
inline std::int64_t read_size(std::int64_t value, bool wide) {
  return wide ? value : static_cast<std::int32_t>(value);
}

template <class Element>
std::array<double, 2> parts(Element value) {
  if constexpr (std::is_arithmetic_v<Element>) {
    return {static_cast<double>(value), 0};
  } else {
    return {static_cast<double>(value.real()), static_cast<double>(value.imag())};
  }
}

template <class Element>
std::array<double, 2> read_factor(const void* address) {
  Element value;
  std::memcpy(&value, address, sizeof value);
  return parts(value);
}

template <class Element>
std::array<double, 2> read_factor(Element value) requires std::is_arithmetic_v<Element> {
  return parts(value);
}

/// Whether its first, its last or its middle element lies near such memory. Vectors of which none does are left to the
/// CPU: hardly anything of them can be there.
inline bool may_be_left(const blas::VectorCall& call) {
  const std::uintptr_t size = blas::element_size(call.row().scalar);
  for (const blas::Vector& vector : call.vectors()) {
    const auto begin = reinterpret_cast<std::uintptr_t>(vector.address);
    const std::int64_t increment = vector.increment < 0 ? -vector.increment : vector.increment;
    const std::uintptr_t reach =
        static_cast<std::uintptr_t>(call.n - 1) * static_cast<std::uintptr_t>(increment) * size;
    for (const std::uintptr_t at : {begin, begin + reach / 2, begin + reach})
      if (platform::left_memory.may_be_at(at)) return true;
  }
  return false;
}

template <blas::VectorRoutine routine>
using Factor = abi::Element<blas::row(routine).factor>;

/// Calls without alpha or y pass a null address for it. (The arguments have no place in the caller's frame: then the
/// caller ends in a jump to the original.)
template <Style style, blas::VectorRoutine routine, class Size, class Alpha>
[[gnu::noinline]] bool made_where_left(Size n, Alpha alpha, void* x, Size incx, void* y, Size incy,
                                       const EntryPoint& entry, const Original& original, const void* caller) {
  constexpr blas::VectorRoutineRow of = blas::row(routine);
  const std::optional<abi::IntegerWidth> integers = original.integers(of.scalar);
  if (!integers) return false;
  const bool wide = *integers == abi::IntegerWidth::ilp64;
  blas::VectorCall call{.routine = routine, .n = read_size(n, wide)};
  call.x_and_y[0] = {x, read_size(incx, wide)};
  if constexpr (blas::vector_count(of.kind) > 1) call.x_and_y[1] = {y, read_size(incy, wide)};
  if (call.n <= 0 || !may_be_left(call)) return false;
  if constexpr (blas::has_factor(of.kind)) call.alpha = read_factor<Factor<routine>>(alpha);
  return make_where_left({call, {original.function, style}, entry.symbol, caller});
}

/// The function that is to be called, and how it was named.
struct Callee {
  const EntryPoint& entry;
  const Original* original;  ///< nullptr: it has to be looked up
};

/// The function for a call of a name that is not bound.
Original look_up(const EntryPoint& entry, const void* caller);

/// Programs in C may read what libraries in C return (intercept/function_of.h), so these functions return what
/// originals do. `Called::find(caller)` tells the callee.
template <class Called, Style style, blas::VectorRoutine routine, class Size = abi::VectorSize<style>>
long two_vectors(Size n, void* x, Size incx, void* y, Size incy) {
  using Function = long(Size, void*, Size, void*, Size);
  const Callee callee = Called::find(__builtin_return_address(0));
  if (callee.original == nullptr) [[unlikely]]
    return reinterpret_cast<Function*>(look_up(callee.entry, __builtin_return_address(0)).function)(n, x, incx, y,
                                                                                                    incy);
  if (platform::left_memory.any()) [[unlikely]]
    if (made_where_left<style, routine, Size, const void*>(n, nullptr, x, incx, y, incy, callee.entry, *callee.original,
                                                           __builtin_return_address(0)))
      return 0;
  return reinterpret_cast<Function*>(callee.original->function)(n, x, incx, y, incy);
}

template <class Called, Style style, blas::VectorRoutine routine, class Size = abi::VectorSize<style>,
          class Alpha = abi::VectorFactor<style, blas::row(routine).factor>>
long scaled(Size n, Alpha alpha, void* x, Size incx) {
  using Function = long(Size, Alpha, void*, Size);
  const Callee callee = Called::find(__builtin_return_address(0));
  if (callee.original == nullptr) [[unlikely]]
    return reinterpret_cast<Function*>(look_up(callee.entry, __builtin_return_address(0)).function)(n, alpha, x, incx);
  if (platform::left_memory.any()) [[unlikely]]
    if (made_where_left<style, routine>(n, alpha, x, incx, nullptr, Size{}, callee.entry, *callee.original,
                                        __builtin_return_address(0)))
      return 0;
  return reinterpret_cast<Function*>(callee.original->function)(n, alpha, x, incx);
}

template <class Called, Style style, blas::VectorRoutine routine, class Size = abi::VectorSize<style>,
          class Alpha = abi::VectorFactor<style, blas::row(routine).factor>>
long added(Size n, Alpha alpha, void* x, Size incx, void* y, Size incy) {
  using Function = long(Size, Alpha, void*, Size, void*, Size);
  const Callee callee = Called::find(__builtin_return_address(0));
  if (callee.original == nullptr) [[unlikely]]
    return reinterpret_cast<Function*>(look_up(callee.entry, __builtin_return_address(0)).function)(n, alpha, x, incx,
                                                                                                    y, incy);
  if (platform::left_memory.any()) [[unlikely]]
    if (made_where_left<style, routine>(n, alpha, x, incx, y, incy, callee.entry, *callee.original,
                                        __builtin_return_address(0)))
      return 0;
  return reinterpret_cast<Function*>(callee.original->function)(n, alpha, x, incx, y, incy);
}

}  // namespace vectors

/// The function with the parameters of a routine.
template <class Called, abi::Style style, blas::VectorRoutine routine>
Hook vector_function() {
  constexpr blas::VectorKind kind = blas::row(routine).kind;
  if constexpr (kind == blas::VectorKind::scal) {
    return reinterpret_cast<Hook>(&vectors::scaled<Called, style, routine>);
  } else if constexpr (kind == blas::VectorKind::axpy) {
    return reinterpret_cast<Hook>(&vectors::added<Called, style, routine>);
  } else {
    return reinterpret_cast<Hook>(&vectors::two_vectors<Called, style, routine>);
  }
}

}  // namespace blastoff::intercept
