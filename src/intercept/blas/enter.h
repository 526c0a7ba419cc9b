// The common path of all hooks: state the call and pass it to dispatch().
#pragma once

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
#include "intercept/blas/dispatch_call.h"
#include "intercept/blas/enter_groups.h"
#include "intercept/blas/entry_points.h"
#include "intercept/dispatch.h"
#include "intercept/original.h"
#include "intercept/passed_on.h"

namespace blastoff::intercept {

/// The original and its companion as an OriginalRoutine.
abi::OriginalRoutine original_routine(const EntryPoint& entry, const Original& original);

/// InterceptedCall::host of BLAS calls.
std::unique_ptr<operation::Host> blas_host(const InterceptedCall& intercepted);

template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
bool parse(blas::Call* call, blas::Routine routine, const PassedOn<Values...>& passed_on) {
  return std::apply(
      [&](Values... values) { return abi::parse<style, kind, scalar, Integer>(call, routine, values...); },
      passed_on.values);
}

/// The arguments that are enough to recognise a small call.
struct Sizes {
  bool known = false;  ///< false: an option letter is invalid
  blas::Side side = blas::Side::left;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 1;
  std::int64_t products = 1;
};

/// Reads the arguments for Sizes only. Row-major or column-major order makes no difference to what is computed from
/// them.
template <abi::Style style, blas::Kind kind, class Integer, class... Values>
Sizes sizes_of(const PassedOn<Values...>& passed_on) {
  using abi::Argument;
  constexpr abi::Arguments<style, kind> arguments;
  const auto size = [&]<Argument argument>() {
    return abi::size_of<Integer>(std::get<abi::position(argument, arguments)>(passed_on.values));
  };
  constexpr bool square = blas::is_rank_update(kind) || kind == blas::Kind::gemmt;
  Sizes sizes{.known = true, .n = size.template operator()<Argument::n>()};
  if constexpr (square || kind == blas::Kind::symv || kind == blas::Kind::hemv)
    sizes.m = sizes.n;
  else
    sizes.m = size.template operator()<Argument::m>();
  if constexpr (blas::has_side(kind)) {
    sizes.known = abi::parse_option(std::get<abi::position(Argument::side, arguments)>(passed_on.values), sizes.side);
    sizes.k = sizes.side == blas::Side::left ? sizes.m : sizes.n;
  } else if constexpr (!blas::is_matrix_vector(kind)) {
    sizes.k = size.template operator()<Argument::k>();
  }
  if constexpr (kind == blas::Kind::gemm_batch_strided) sizes.products = size.template operator()<Argument::products>();
  return sizes;
}

/// Makes the call if it is small. The smallest calls take no longer than examining all arguments would, so only the
/// sizes are looked at. If another argument is invalid, the original reports it.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class Arguments>
[[gnu::always_inline]] inline bool made_as_small(const InterceptedCall& intercepted, const Arguments& arguments) {
  const Sizes sizes = sizes_of<style, kind, Integer>(arguments);
  if (!sizes.known || sizes.m <= 0 || sizes.n <= 0 || sizes.k <= 0 || sizes.products <= 0) return false;
  const auto products = static_cast<double>(sizes.products);
  return dispatch_if_small(intercepted,
                           products * blas::volume(kind, sizes.m, sizes.n, sizes.k, sizeof(abi::Element<scalar>)),
                           products * blas::flops(kind, scalar, sizes.side, sizes.m, sizes.n, sizes.k));
}

/// Shared by the hooks of all routines that have the same parameters.
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
  const InterceptedCall intercepted{entry,     original,        raw, blas::front_end(), entry.routine.number,
                                    blas_host, arguments.caller};
  const bool wide = *integers == abi::IntegerWidth::ilp64;
  if constexpr (kind == blas::Kind::gemm_batch) {
    return wide ? enter_groups<style, scalar, std::int64_t>(intercepted, arguments)
                : enter_groups<style, scalar, std::int32_t>(intercepted, arguments);
  } else {
    if (wide ? made_as_small<style, kind, scalar, std::int64_t>(intercepted, arguments)
             : made_as_small<style, kind, scalar, std::int32_t>(intercepted, arguments))
      return;
    const blas::Routine routine = blas_routine(entry.routine);
    alignas(blas::Call) std::byte memory[sizeof(blas::Call)];
    auto* const place = reinterpret_cast<blas::Call*>(memory);
    const bool understood = wide ? parse<style, kind, scalar, std::int64_t>(place, routine, arguments)
                                 : parse<style, kind, scalar, std::int32_t>(place, routine, arguments);
    dispatch_call<kind, scalar>(intercepted, understood ? std::launder(place) : nullptr);
  }
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
