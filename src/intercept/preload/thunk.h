// What every exported BLAS name does: state the call, hand it to the one road.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "abi/arguments.h"
#include "abi/parse.h"
#include "abi/reentry.h"
#include "intercept/entry_points.h"
#include "intercept/original.h"
#include "runtime/dispatch.h"

namespace blastoff::intercept {

/// Who defines a name, as far as the name tells.
enum class Decoration : std::uint8_t {
  suffixed,     ///< a BLAS with 64-bit integers
  ambiguous,    ///< a BLAS; by convention with 32-bit integers, but libraries of 64-bit ones use such names too
  undecorated,  ///< a BLAS likewise, or anybody's own function
};

/// The program's arguments, to be passed on as they came.
template <class... Values>
struct PassedOn {
  std::tuple<Values...> values;

  static void invoke(const void* self, void* original) {
    std::apply(reinterpret_cast<void (*)(Values...)>(original), static_cast<const PassedOn*>(self)->values);
  }
};

/// The BLAS beneath us calls a BLAS name: straight to its own. False where there is none.
[[gnu::noinline, gnu::cold]] inline bool pass_through(const abi::EntryPoint& entry, const void* caller,
                                                      const runtime::RawArguments& raw) {
  const Original original = original_for(entry, caller);
  if (original.function == nullptr) return false;
  raw(original.function);
  return true;
}

/// `parse` for 64-bit integers behind a name that usually means 32-bit ones; rare, so kept out of the way.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class... Values>
[[gnu::noinline, gnu::cold]] bool parse_wide(blas::Call& call, const std::tuple<Values...>& values) {
  return std::apply([&](Values... each) { return abi::parse<style, kind, scalar, std::int64_t>(call, each...); },
                    values);
}

template <EntryIndex index, abi::Style style, blas::Routine routine, Decoration decoration, class... Values>
[[gnu::always_inline]] inline void enter(const void* caller, Values... values) {
  constexpr blas::Kind kind = row(routine).kind;
  constexpr blas::Scalar scalar = row(routine).scalar;
  static_assert(std::is_same_v<std::tuple<Values...>, abi::ParameterTuple<style, kind, scalar>>);
  const abi::EntryPoint& entry = entry_point_table[static_cast<std::size_t>(index)];
  const PassedOn<Values...> passed_on{{values...}};
  const runtime::RawArguments raw{&PassedOn<Values...>::invoke, &passed_on};
  if (abi::inside_original() && pass_through(entry, caller, raw)) return;

  blas::Call call;
  call.routine = routine;
  bool understood = false;
  if constexpr (decoration == Decoration::suffixed) {
    understood = abi::parse<style, kind, scalar, std::int64_t>(call, values...);
  } else if (original_for(entry, caller).convention.integers == abi::IntegerWidth::ilp64) [[unlikely]] {
    understood = parse_wide<style, kind, scalar>(call, passed_on.values);
  } else {
    understood = abi::parse<style, kind, scalar, std::int32_t>(call, values...);
  }
  runtime::dispatch(entry, caller, understood ? &call : nullptr, raw);
}

}  // namespace blastoff::intercept
