// The common path of all FFTW hooks: planners remember what was planned, executions go to dispatch().
#pragma once

#include <array>
#include <span>
#include <tuple>

#include "intercept/dispatch.h"
#include "intercept/fft/entry_points.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// A call with the program's own words, and what the original returned: the plan, of C's planners.
template <class... Words>
struct FftWordsPassedOn {
  std::tuple<Words...> words;
  mutable long returned = 0;

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const FftWordsPassedOn*>(self);
    call.returned = std::apply(reinterpret_cast<long (*)(Words...)>(original), call.words);
  }
};

/// A call of FFTW's interface on its way.
struct FftCall {
  const EntryPoint& entry;
  const Original& original;
  const RawArguments& raw;
  const fft::RoutineRow& row;
  std::span<void* const> words;
  const void* caller;  ///< where the call returns to
};

/// Whether a planner was called by its own library.
bool called_from_within(const Original& planner, const void* caller);

/// The original makes the plan. Where the device may execute it, it is remembered. `returned` is what the original
/// returns.
void enter_planner(const FftCall& call, const long& returned);
void enter_execution(const FftCall& call);
void enter_destruction(const FftCall& call);

template <fft::Routine routine, class... Words>
[[gnu::always_inline]] inline long enter_fft_routine(const EntryPoint& entry, const Original& original,
                                                     Words... words) {
  constexpr const fft::RoutineRow& row = fft::row(routine);
  static_assert(sizeof...(Words) == row.words);
  const FftWordsPassedOn<Words...> passed_on{{words...}};
  const RawArguments raw{&FftWordsPassedOn<Words...>::invoke, &passed_on};
  const std::array<void*, sizeof...(Words)> array{words...};
  const FftCall call{entry, original, raw, row, array, __builtin_return_address(0)};
  if constexpr (row.function == fft::Function::plan) {
    enter_planner(call, passed_on.returned);
  } else if constexpr (row.function == fft::Function::destroy) {
    enter_destruction(call);
  } else {
    enter_execution(call);
  }
  return passed_on.returned;
}

}  // namespace blastoff::intercept
