// The definitions of enter() and parse() (enter.h). The files for Fortran and CBLAS have all instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <optional>
#include <tuple>

#include "abi/parse.h"
#include "abi/reentry.h"
#include "blas/front_end.h"
#include "intercept/blas/dispatch_call.h"
#include "intercept/blas/enter.h"
#include "intercept/blas/enter_groups.h"

namespace blastoff::intercept {

template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer>
bool parse(blas::Call* call, blas::Routine routine, const BlasArguments<style, kind, scalar>& arguments) {
  if constexpr (blas::is_grouped(kind))
    return false;
  else
    return std::apply(
        [&](auto... values) { return abi::parse<style, kind, scalar, Integer>(call, routine, values...); },
        arguments.values);
}

/// Returns the flops and the volume of a call, by the arguments that are enough to recognise a small one. Row-major or
/// column-major order makes no difference to what is computed from them. The volume is infinite if an option letter is
/// invalid, or if there is nothing to compute.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
[[gnu::always_inline]] inline operation::Work sized_work(const PassedOn<Values...>& passed_on) {
  using abi::Argument;
  constexpr abi::Arguments<style, kind> arguments;
  constexpr operation::Work unknown{.volume = std::numeric_limits<double>::infinity()};
  const auto size = [&]<Argument argument>() {
    return abi::size_of<Integer>(std::get<abi::position(argument, arguments)>(passed_on.values));
  };
  constexpr bool square = blas::is_rank_update(kind) || kind == blas::Kind::gemmt;
  blas::Side side = blas::Side::left;
  const std::int64_t n = size.template operator()<Argument::n>();
  std::int64_t m = n;
  std::int64_t k = 1;
  std::int64_t products = 1;
  if constexpr (!square && kind != blas::Kind::symv && kind != blas::Kind::hemv)
    m = size.template operator()<Argument::m>();
  if constexpr (blas::has_side(kind)) {
    if (!abi::parse_option(std::get<abi::position(Argument::side, arguments)>(passed_on.values), side)) return unknown;
    k = side == blas::Side::left ? m : n;
  } else if constexpr (!blas::is_matrix_vector(kind)) {
    k = size.template operator()<Argument::k>();
  }
  if constexpr (blas::is_batch(kind)) products = size.template operator()<Argument::products>();
  if (m <= 0 || n <= 0 || k <= 0 || products <= 0) return unknown;
  const auto times = static_cast<double>(products);
  return {.flops = times * blas::flops(kind, scalar, side, m, n, k),
          .volume = times * blas::volume(kind, m, n, k, sizeof(abi::Element<scalar>))};
}

template <abi::Style style, blas::Kind kind, blas::Scalar scalar>
long enter(const EntryPoint& entry, const Original& original, const BlasArguments<style, kind, scalar>& arguments) {
  using Arguments = BlasArguments<style, kind, scalar>;
  // Calls that the original makes to BLAS names are not intercepted.
  const bool passes = original.function != nullptr && (abi::inside_original() || !original.intercepted);
  const std::optional<abi::IntegerWidth> integers = passes ? std::nullopt : original.integers(scalar);
  if (!integers) {
    Arguments::invoke(&arguments, original.function);
    return arguments.returned;
  }
  const bool wide = *integers == abi::IntegerWidth::ilp64;
  // The smallest calls take no longer than examining all arguments would, so only the sizes are looked at. If another
  // argument is invalid, the original reports it.
  operation::Work work;
  if constexpr (!blas::is_grouped(kind)) {
    const auto routine = static_cast<operation::RoutineId>(blas::front_end().first_routine() + entry.routine.number);
    work = wide ? sized_work<style, kind, scalar, std::int64_t>(arguments)
                : sized_work<style, kind, scalar, std::int32_t>(arguments);
    if (original.function != nullptr && counted_as_small(routine, work.volume, work.flops)) {
      abi::run_as_original([&] { Arguments::invoke(&arguments, original.function); });
      return arguments.returned;
    }
  }
  const RawArguments raw{&Arguments::invoke, &arguments};
  const InterceptedCall intercepted{entry,     original,        raw, blas::front_end(), entry.routine.number,
                                    blas_host, arguments.caller};
  if constexpr (blas::is_grouped(kind)) {
    wide ? enter_groups<style, kind, scalar, std::int64_t>(intercepted, arguments)
         : enter_groups<style, kind, scalar, std::int32_t>(intercepted, arguments);
  } else if (!dispatch_if_small(intercepted, work.volume, work.flops)) {
    const blas::Routine routine = blas_routine(entry.routine);
    alignas(blas::Call) std::byte memory[sizeof(blas::Call)];
    auto* const place = reinterpret_cast<blas::Call*>(memory);
    const bool understood = wide ? parse<style, kind, scalar, std::int64_t>(place, routine, arguments)
                                 : parse<style, kind, scalar, std::int32_t>(place, routine, arguments);
    dispatch_call<kind, scalar>(intercepted, understood ? std::launder(place) : nullptr);
  }
  return arguments.returned;
}

/// The instances for all routines. Some routines share one, which an explicit instantiation may not name twice.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar>
struct Instances {
  decltype(&enter<style, kind, scalar>) entered = &enter<style, kind, scalar>;
  decltype(&parse<style, kind, scalar, std::int32_t>) parsed = &parse<style, kind, scalar, std::int32_t>;
  decltype(&parse<style, kind, scalar, std::int64_t>) parsed_wide = &parse<style, kind, scalar, std::int64_t>;
};
#define BLASTOFF_INSTANTIATE(style, name, kind, scalar) \
  [[gnu::used]] const Instances<abi::Style::style, blas::Kind::kind, blas::Scalar::scalar> name##_instances;

}  // namespace blastoff::intercept
