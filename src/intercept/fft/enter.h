// The common path of all hooks of FFTW and DFTI: planners remember their plans, executions go to dispatch().
#pragma once

#include <array>
#include <span>
#include <tuple>

#include "intercept/dispatch.h"
#include "intercept/fft/entry_points.h"
#include "intercept/function_of.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// Calls the original with the program's own words, and keeps what it returned: the plan, for planners of the C
/// interface.
template <class... Words>
struct FftWordsPassedOn {
  std::tuple<Words...> words;
  mutable long returned = 0;

  static void invoke(const void* self, void* original) {
    const auto& call = *static_cast<const FftWordsPassedOn*>(self);
    call.returned = std::apply(reinterpret_cast<long (*)(Words...)>(original), call.words);
  }
};

/// A call of FFTW's interface or of DFTI.
struct FftCall {
  const EntryPoint& entry;
  const Original& original;
  const RawArguments& raw;
  const fft::RoutineRow& row;
  std::span<void* const> words;
  const void* caller;  ///< return address of the call
};

/// Passes the call on to the original and returns true if there is no original, if the original is not intercepted, or
/// if the library itself makes the call: plan_dft_3d makes its plan by plan_dft.
bool pass_on(const FftCall& call);

/// The plan, or DFTI's descriptor, that a call is about; nullptr if there is none.
void* handle_of(const FftCall& call);

/// A call that executes a plan. `routine`: its number within the front end.
InterceptedCall call_of_plan(const FftCall& call, const operation::FrontEnd& front_end, std::size_t routine);

/// Whether FFTW itself made this call of a planner.
bool called_from_within(const Original& planner, const void* caller);

/// The original makes the plan. The plan is remembered if the device may execute it. `returned`: what the original
/// returns.
void enter_planner(const FftCall& call, const long& returned);
void enter_execution(const FftCall& call);
void enter_destruction(const FftCall& call);

/// DFTI: the original commits the descriptor, which is remembered. `returned`: what the original returns.
void enter_commitment(const FftCall& call, const long& returned);
/// DFTI: transforms the arrays of the call.
void enter_transform(const FftCall& call);

template <fft::Routine routine>
struct EnterFft {
  using Parameters = Words<fft::row(routine).words>;

  template <class... Each>
  [[gnu::always_inline]] static long enter(const EntryPoint& entry, const Original& original, Each... words) {
    constexpr const fft::RoutineRow& row = fft::row(routine);
    const FftWordsPassedOn<Each...> passed_on{{words...}};
    const RawArguments raw{&FftWordsPassedOn<Each...>::invoke, &passed_on};
    const std::array<void*, sizeof...(Each)> array{words...};
    const FftCall call{entry, original, raw, row, array, __builtin_return_address(0)};
    if constexpr (row.function == fft::Function::plan) {
      enter_planner(call, passed_on.returned);
    } else if constexpr (row.function == fft::Function::destroy) {
      enter_destruction(call);
    } else if constexpr (row.function == fft::Function::commit) {
      enter_commitment(call, passed_on.returned);
    } else if constexpr (row.function == fft::Function::compute_forward ||
                         row.function == fft::Function::compute_backward) {
      enter_transform(call);
    } else {
      enter_execution(call);
    }
    return passed_on.returned;
  }
};

}  // namespace blastoff::intercept
