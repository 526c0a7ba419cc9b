// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/vectors/enter.h"
#include "intercept/vectors/entry_points.h"

namespace blastoff::intercept {
namespace {

using abi::Style;

struct PatchedCalled {
  [[gnu::always_inline]] static vectors::Callee find(const void*) {
    return {blastoff_called->entry, &blastoff_called->original};
  }
};

#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar, factor) \
  vector_function<PatchedCalled, Style::fortran, blas::VectorRoutine::name>(),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar, factor) \
  vector_function<PatchedCalled, Style::cblas, blas::VectorRoutine::name>(),
const Hook fortran_hooks[] = {BLASTOFF_VECTOR_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_VECTOR_ROUTINES(BLASTOFF_CBLAS_HOOK)};

}  // namespace

Hook vector_hook(Style style, std::uint16_t routine) {
  return (style == Style::fortran ? fortran_hooks : cblas_hooks)[routine];
}

}  // namespace blastoff::intercept
