// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/scalapack/enter.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_HOOK(name, kind, scalar, library, local, words) hook_of<EnterScalapack<scalapack::Routine::name>>(),
const Hook hooks[] = {BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_HOOK)};

}  // namespace

Hook scalapack_hook(abi::Style, std::uint16_t routine) {
  return hooks[routine];
}

}  // namespace blastoff::intercept
