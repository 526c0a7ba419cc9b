// What every exported BLAS name does: state the call, hand it to the one road.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
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

template <abi::Style style, blas::Kind kind, blas::Scalar scalar, class Integer, class... Values>
bool parse(blas::Call* call, blas::Routine routine, const PassedOn<Values...>& passed_on) {
  return std::apply(
      [&](Values... values) { return abi::parse<style, kind, scalar, Integer>(call, routine, values...); },
      passed_on.values);
}

/// Shared by all names of a routine that have their arguments in common.
template <abi::Style style, blas::Kind kind, blas::Scalar scalar, Decoration decoration, class Arguments>
[[gnu::noinline]] void enter(const abi::EntryPoint& entry, const void* caller, const Arguments& arguments) {
  const runtime::RawArguments raw{&Arguments::invoke, &arguments};
  if (abi::inside_original() && pass_through(entry, caller, raw)) return;

  alignas(blas::Call) std::byte memory[sizeof(blas::Call)];
  auto* const call = reinterpret_cast<blas::Call*>(memory);
  bool understood = false;
  if (decoration == Decoration::suffixed ||
      original_for(entry, caller).convention.integers == abi::IntegerWidth::ilp64) {
    understood = parse<style, kind, scalar, std::int64_t>(call, entry.routine, arguments);
  } else {
    understood = parse<style, kind, scalar, std::int32_t>(call, entry.routine, arguments);
  }
  runtime::dispatch(entry, caller, understood ? std::launder(call) : nullptr, raw);
}

template <EntryIndex index, abi::Style style, blas::Routine routine, Decoration decoration, class... Values>
[[gnu::always_inline]] inline void enter_with(const void* caller, Values... values) {
  constexpr blas::Kind kind = row(routine).kind;
  constexpr blas::Scalar scalar = row(routine).scalar;
  static_assert(std::is_same_v<std::tuple<Values...>, abi::ParameterTuple<style, kind, scalar>>);
  const PassedOn<Values...> passed_on{{values...}};
  enter<style, kind, scalar, decoration>(entry_point_table[static_cast<std::size_t>(index)], caller, passed_on);
}

}  // namespace blastoff::intercept
