// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/fft/enter.h"
#include "intercept/words.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_DEFINE_HOOK(name, style, function, kind, precision, form, words) \
  BLASTOFF_DEFINE_WORDS_FUNCTION(, name##_hook, words, FunctionCalled<EnterFft<fft::Routine::name>>{})
BLASTOFF_FFT_ROUTINES(BLASTOFF_DEFINE_HOOK)

#define BLASTOFF_HOOK(name, style, function, kind, precision, form, words) reinterpret_cast<Hook>(&name##_hook),
const Hook hooks[] = {BLASTOFF_FFT_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook fft_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
