// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/blas/define_hook.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_FUNCTION_CALLED(name, style) (FunctionCalled<EnterBlas<abi::Style::style, blas::Routine::name>>{})
#define BLASTOFF_DEFINE_HOOKS(name, kind, scalar)                                                      \
  BLASTOFF_DEFINE_HOOK(, fortran_##name, name, fortran, kind, BLASTOFF_FUNCTION_CALLED(name, fortran)) \
  BLASTOFF_DEFINE_HOOK(, cblas_##name, name, cblas, kind, BLASTOFF_FUNCTION_CALLED(name, cblas))
BLASTOFF_ROUTINES(BLASTOFF_DEFINE_HOOKS)

#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar) reinterpret_cast<Hook>(&fortran_##name),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar) reinterpret_cast<Hook>(&cblas_##name),
const Hook fortran_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_CBLAS_HOOK)};

}  // namespace

Hook blas_hook(abi::Style style, std::uint16_t routine) {
  return (style == abi::Style::fortran ? fortran_hooks : cblas_hooks)[routine];
}

}  // namespace blastoff::intercept
