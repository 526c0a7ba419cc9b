// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/lapack/enter.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_HOOK(name, kind, scalar) hook_of<EnterLapack<lapack::Routine::name>>(),
const Hook hooks[] = {BLASTOFF_LAPACK_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook lapack_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
