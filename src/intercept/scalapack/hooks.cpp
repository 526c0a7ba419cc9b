// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/scalapack/enter.h"
#include "intercept/words.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_DEFINE_HOOK(name, kind, scalar, library, local, words) \
  BLASTOFF_DEFINE_WORDS_FUNCTION(, name##_hook, words, FunctionCalled<EnterScalapack<scalapack::Routine::name>>{})
BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_DEFINE_HOOK)

#define BLASTOFF_HOOK(name, kind, scalar, library, local, words) reinterpret_cast<Hook>(&name##_hook),
const Hook hooks[] = {BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook scalapack_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
