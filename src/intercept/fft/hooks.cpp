#include "intercept/fft/hooks.h"

#include "abi/reentry.h"
#include "intercept/fft/enter.h"
#include "intercept/patch/hooks.h"
#include "intercept/words.h"

namespace blastoff::intercept {
namespace {

/// A plan may only be remembered if its end will be noticed: another plan may get its address. (The program reaches
/// patched functions however it found them, exported names only where it was bound to them.)
bool end_is_noticed(const Original& planner) {
  const PatchedFunction* const execute = find_patched(planner.companion);
  return execute != nullptr && find_patched(execute->original.companion) != nullptr;
}

/// The original's own calls of planners are not remembered either.
template <class... Words>
long pass_planner_on(const Original& original, Words... words) {
  long returned = 0;
  abi::run_as_original([&] { returned = reinterpret_cast<long (*)(Words...)>(original.function)(words...); });
  return returned;
}

template <fft::Routine routine, class... Words>
[[gnu::always_inline]] inline long function_called(Words... words) {
  const PatchedFunction& function = *blastoff_called;
  if constexpr (fft::row(routine).function == fft::Function::plan) {
    if (!end_is_noticed(function.original)) return pass_planner_on(function.original, words...);
  }
  return enter_fft_routine<routine>(function.entry, function.original, words...);
}

#define BLASTOFF_DEFINE_HOOK(name, style, function, kind, precision, form, words) \
  BLASTOFF_DEFINE_WORDS_FUNCTION(, name##_hook, words, function_called<fft::Routine::name>)
BLASTOFF_FFT_ROUTINES(BLASTOFF_DEFINE_HOOK)

#define BLASTOFF_HOOK(name, style, function, kind, precision, form, words) reinterpret_cast<Hook>(&name##_hook),
const Hook hooks[] = {BLASTOFF_FFT_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook fft_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
