#include "abi/vector_routine.h"

#include <complex>

#include "abi/reentry.h"

namespace blastoff::abi {
namespace {

using blas::VectorCall;
using blas::VectorKind;

template <Style style>
VectorSize<style> pass(const std::int64_t& size) {
  if constexpr (style == Style::fortran) {
    return &size;
  } else {
    return size;
  }
}

template <Style style, blas::VectorRoutine routine>
void invoke(void* function, const VectorCall& call) {
  constexpr blas::VectorRoutineRow of = blas::row(routine);
  using Size = VectorSize<style>;
  using Factor = VectorFactor<style, of.factor>;
  const auto& [x, y] = call.x_and_y;
  const Size n = pass<style>(call.n);
  const Size incx = pass<style>(x.increment);
  const Size incy = pass<style>(y.increment);
  Element<of.factor> alpha{};
  if constexpr (blas::is_complex(of.factor)) {
    using Real = typename Element<of.factor>::value_type;
    alpha = {static_cast<Real>(call.alpha[0]), static_cast<Real>(call.alpha[1])};
  } else {
    alpha = static_cast<Element<of.factor>>(call.alpha[0]);
  }
  Factor factor{};
  if constexpr (std::is_pointer_v<Factor>) {
    factor = &alpha;
  } else {
    factor = alpha;
  }
  if constexpr (of.kind == VectorKind::scal) {
    reinterpret_cast<void (*)(Size, Factor, void*, Size)>(function)(n, factor, x.address, incx);
  } else if constexpr (of.kind == VectorKind::axpy) {
    reinterpret_cast<void (*)(Size, Factor, void*, Size, void*, Size)>(function)(n, factor, x.address, incx, y.address,
                                                                                 incy);
  } else {
    reinterpret_cast<void (*)(Size, void*, Size, void*, Size)>(function)(n, x.address, incx, y.address, incy);
  }
}

using Invoke = void (*)(void* function, const VectorCall& call);

template <Style style>
constexpr Invoke invocations[] = {
#define BLASTOFF_INVOKE(name, kind, scalar, factor) &invoke<style, blas::VectorRoutine::name>,
    BLASTOFF_VECTOR_ROUTINES(BLASTOFF_INVOKE)
#undef BLASTOFF_INVOKE
};

}  // namespace

void VectorRoutine::compute(const VectorCall& call) const {
  const auto number = static_cast<std::size_t>(call.routine);
  const Invoke made =
      function_.style == Style::fortran ? invocations<Style::fortran>[number] : invocations<Style::cblas>[number];
  run_as_original([&] { made(function_.address, call); });
}

}  // namespace blastoff::abi
