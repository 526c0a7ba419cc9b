// fftw_plan_dft_3d, fftwf_execute, dfftw_plan_dft_3d_, ... of all routines.
#include "intercept/bound_name.h"
#include "intercept/fft/enter.h"

namespace blastoff::intercept {
namespace {

template <fft::Routine routine, const NameBindings& bindings>
struct FftNameCalled {
  using Parameters = typename EnterFft<routine>::Parameters;

  template <class... Words>
  [[gnu::always_inline]] static long call(Words... words) {
    const void* const caller = __builtin_return_address(0);
    const EntryPoint& entry = fft_entry_points[static_cast<std::size_t>(routine)];
    Original original = original_of(bindings, entry, caller);
    if constexpr (fft::row(routine).function == fft::Function::plan) {
      // FFTW itself makes this call, for a function that the program called and that we do not intercept. The program
      // may destroy the plan by such a function, too.
      if (called_from_within(original, caller)) original.intercepted = false;
    }
    return EnterFft<routine>::enter(entry, original, words...);
  }
};

}  // namespace
}  // namespace blastoff::intercept

#define BLASTOFF_DEFINE_NAME(name, style, function, kind, precision, form, words)                                   \
  BLASTOFF_DEFINE_BINDINGS(name)                                                                                    \
  BLASTOFF_BIND_NAME(name,                                                                                          \
                     blastoff::intercept::fft_entry_points[static_cast<std::size_t>(blastoff::fft::Routine::name)], \
                     (blastoff::intercept::function_of<                                                             \
                         blastoff::intercept::FftNameCalled<blastoff::fft::Routine::name, blastoff_bindings_##name>>))

BLASTOFF_FFT_ROUTINES(BLASTOFF_DEFINE_NAME)
