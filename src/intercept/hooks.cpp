// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/blas/enter.h"
#include "intercept/fft/enter.h"
#include "intercept/lapack/enter.h"
#include "intercept/scalapack/enter.h"
#include "intercept/vectors/enter.h"
#include "intercept/vectors/entry_points.h"

namespace blastoff::intercept {
namespace {

struct PatchedCalled {
  [[gnu::always_inline]] static vectors::Callee find(const void*) {
    return {blastoff_called->entry, &blastoff_called->original};
  }
};

#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::fortran, blas::Routine::name>>(),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::cblas, blas::Routine::name>>(),
#define BLASTOFF_LAPACK_HOOK(name, kind, scalar) hook_of<EnterLapack<lapack::Routine::name>>(),
#define BLASTOFF_FFT_HOOK(name, ...) hook_of<EnterFft<fft::Routine::name>>(),
#define BLASTOFF_SCALAPACK_HOOK(name, ...) hook_of<EnterScalapack<scalapack::Routine::name>>(),
#define BLASTOFF_FORTRAN_VECTOR_HOOK(name, ...) \
  vector_function<PatchedCalled, abi::Style::fortran, blas::VectorRoutine::name>(),
#define BLASTOFF_CBLAS_VECTOR_HOOK(name, ...) \
  vector_function<PatchedCalled, abi::Style::cblas, blas::VectorRoutine::name>(),
const Hook fortran_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_CBLAS_HOOK)};
const Hook lapack_hooks[] = {BLASTOFF_LAPACK_ROUTINES(BLASTOFF_LAPACK_HOOK)};
const Hook fft_hooks[] = {BLASTOFF_FFT_ROUTINES(BLASTOFF_FFT_HOOK)};
const Hook scalapack_hooks[] = {BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_SCALAPACK_HOOK)};
const Hook fortran_vector_hooks[] = {BLASTOFF_VECTOR_ROUTINES(BLASTOFF_FORTRAN_VECTOR_HOOK)};
const Hook cblas_vector_hooks[] = {BLASTOFF_VECTOR_ROUTINES(BLASTOFF_CBLAS_VECTOR_HOOK)};

}  // namespace

Hook blas_hook(abi::Style style, std::uint16_t routine) {
  return (style == abi::Style::fortran ? fortran_hooks : cblas_hooks)[routine];
}
Hook lapack_hook(abi::Style, std::uint16_t routine) {
  return lapack_hooks[routine];
}
Hook fft_hook(abi::Style, std::uint16_t routine) {
  return fft_hooks[routine];
}
Hook scalapack_hook(abi::Style, std::uint16_t routine) {
  return scalapack_hooks[routine];
}
Hook vector_hook(abi::Style style, std::uint16_t routine) {
  return (style == abi::Style::fortran ? fortran_vector_hooks : cblas_vector_hooks)[routine];
}

}  // namespace blastoff::intercept
