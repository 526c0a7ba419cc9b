// The common path of all hooks: state the call and pass it to dispatch().
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <tuple>
#include <type_traits>

#include "abi/arguments.h"
#include "abi/original_routine.h"
#include "abi/parse.h"
#include "abi/reentry.h"
#include "blas/front_end.h"
#include "intercept/blas/entry_points.h"
#include "intercept/dispatch.h"
#include "intercept/original.h"
#include "intercept/passed_on.h"

namespace blastoff::intercept {

/// The original and its companion as an OriginalRoutine.
abi::OriginalRoutine original_routine(const EntryPoint& entry, const Original& original);

/// Visit::host of BLAS calls.
std::unique_ptr<operation::Host> blas_host(const Visit& visit);

template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
bool parse(blas::Call* call, blas::Routine routine, const PassedOn<Values...>& passed_on) {
  return std::apply(
      [&](Values... values) { return abi::parse<style, kind, scalar, Integer>(call, routine, values...); },
      passed_on.values);
}

/// Of the arguments of a product of a matrix and a vector only the sizes, which tell whether it is small.
template <abi::Style style, blas::Kind kind, class... Values>
std::array<std::int64_t, 2> matrix_sizes(const PassedOn<Values...>& passed_on, abi::IntegerWidth integers) {
  constexpr std::size_t first = abi::position(abi::Argument::n, abi::Arguments<style, kind>{});
  constexpr std::size_t other = kind == blas::Kind::gemv ? first - 1 : first;
  const auto size = [&](auto value) {
    return integers == abi::IntegerWidth::ilp64 ? abi::size_of<std::int64_t>(value) : abi::size_of<std::int32_t>(value);
  };
  return {size(std::get<other>(passed_on.values)), size(std::get<first>(passed_on.values))};
}

/// Makes the call if it is small. The smallest products of a matrix and a vector take no longer than all arguments
/// take to be examined. So only its sizes are looked at; should other arguments be invalid, the original says so.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Arguments>
bool made_as_small(const Visit& visit, const Arguments& arguments, abi::IntegerWidth integers) {
  const auto [m, n] = matrix_sizes<style, kind>(arguments, integers);
  if (m <= 0 || n <= 0) return false;
  const double area = static_cast<double>(m) * static_cast<double>(n);
  return dispatch_if_small(visit, blas::volume(kind, m, n, 1, sizeof(abi::Element<scalar>)),
                           (blas::is_complex(scalar) ? 8 : 2) * area);
}

/// Shared by all hooks of routines that have their arguments in common.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Arguments>
[[gnu::noinline]] void enter(const EntryPoint& entry, const Original& original, const Arguments& arguments) {
  const RawArguments raw{&Arguments::invoke, &arguments};
  // Calls that the original makes to BLAS names are not intercepted.
  if (original.function != nullptr && (abi::inside_original() || !original.intercepted)) {
    raw(original.function);
    return;
  }
  const std::optional<abi::IntegerWidth> integers = original.integers(scalar);
  if (!integers) {
    raw(original.function);
    return;
  }
  const Visit visit{entry, original, raw, blas::front_end(), entry.routine.number, blas_host, arguments.caller};
  if constexpr (blas::is_matrix_vector(kind))
    if (made_as_small<style, kind, scalar>(visit, arguments, *integers)) return;
  const blas::Routine routine = blas_routine(entry.routine);
  alignas(blas::Call) std::byte memory[sizeof(blas::Call)];
  auto* const place = reinterpret_cast<blas::Call*>(memory);
  const bool understood = *integers == abi::IntegerWidth::ilp64
                              ? parse<style, kind, scalar, std::int64_t>(place, routine, arguments)
                              : parse<style, kind, scalar, std::int32_t>(place, routine, arguments);
  if (!understood) return dispatch(visit, nullptr);
  const blas::Call& call = *std::launder(place);
  const Parsed parsed{blas::valid(call),
                      blas::trivial(call),
                      blas::volume(kind, call.m, call.n, call.k, sizeof(abi::Element<scalar>)),
                      blas::flops(call),
                      &call,
                      [](const void* made) { return blas::operation_of(*static_cast<const blas::Call*>(made)); },
                      !call.conjugated};
  dispatch(visit, &parsed);
}

template <abi::Style style, blas::Routine routine, class... Values>
[[gnu::always_inline]] inline void enter_routine(const EntryPoint& entry, const Original& original, Values... values) {
  constexpr blas::Kind kind = row(routine).kind;
  constexpr blas::Scalar scalar = row(routine).scalar;
  static_assert(std::is_same_v<std::tuple<Values...>, abi::ParameterTuple<style, kind, scalar>>);
  const PassedOn<Values...> passed_on{{values...}, __builtin_return_address(0)};
  enter<style, kind, scalar>(entry, original, passed_on);
}

}  // namespace blastoff::intercept
