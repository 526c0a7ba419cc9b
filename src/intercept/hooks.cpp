// The hooks that replace patched functions.
#include "intercept/patch/hooks.h"
#include "intercept/blas/enter.h"
#include "intercept/fft/enter.h"
#include "intercept/lapack/enter.h"
#include "intercept/scalapack/enter.h"

namespace blastoff::intercept {
namespace {

#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::fortran, blas::Routine::name>>(),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar) hook_of<EnterBlas<abi::Style::cblas, blas::Routine::name>>(),
#define BLASTOFF_LAPACK_HOOK(name, kind, scalar) hook_of<EnterLapack<lapack::Routine::name>>(),
#define BLASTOFF_FFT_HOOK(name, ...) hook_of<EnterFft<fft::Routine::name>>(),
#define BLASTOFF_SCALAPACK_HOOK(name, ...) hook_of<EnterScalapack<scalapack::Routine::name>>(),
const Hook fortran_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_CBLAS_HOOK)};
const Hook lapack_hooks[] = {BLASTOFF_LAPACK_ROUTINES(BLASTOFF_LAPACK_HOOK)};
const Hook fft_hooks[] = {BLASTOFF_FFT_ROUTINES(BLASTOFF_FFT_HOOK)};
const Hook scalapack_hooks[] = {BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_SCALAPACK_HOOK)};

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

}  // namespace blastoff::intercept
