// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/blas/enter.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::fortran, blas::Routine::name>>(),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::cblas, blas::Routine::name>>(),
const Hook fortran_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_CBLAS_HOOK)};

}  // namespace

Hook blas_hook(abi::Style style, std::uint16_t routine) {
  return (style == abi::Style::fortran ? fortran_hooks : cblas_hooks)[routine];
}

}  // namespace blastoff::intercept
