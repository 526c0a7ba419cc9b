// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/lapack/enter.h"
#include "intercept/lapack/words.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_DEFINE_HOOK(name, kind, scalar)                                          \
  BLASTOFF_DEFINE_WORDS_FUNCTION_OF(LapackReturned<lapack::Routine::name>, , name##_hook, \
                                    BLASTOFF_WORD_COUNT(kind, scalar),                    \
                                    FunctionCalled<EnterLapack<lapack::Routine::name>>{})
BLASTOFF_LAPACK_ROUTINES(BLASTOFF_DEFINE_HOOK)

#define BLASTOFF_HOOK(name, kind, scalar) reinterpret_cast<Hook>(&name##_hook),
const Hook hooks[] = {BLASTOFF_LAPACK_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook lapack_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
