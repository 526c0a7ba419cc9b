// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/fft/enter.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_HOOK(name, style, function, kind, precision, form, words) hook_of<EnterFft<fft::Routine::name>>(),
const Hook hooks[] = {BLASTOFF_FFT_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook fft_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
