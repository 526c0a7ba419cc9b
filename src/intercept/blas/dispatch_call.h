// Passes a BLAS call to dispatch().
#pragma once

#include "abi/arguments.h"
#include "blas/batch.h"
#include "blas/front_end.h"
#include "intercept/dispatch.h"

namespace blastoff::intercept {

/// `place`: nullptr if the arguments were not understood.
template <blas::Kind kind, blas::Scalar scalar>
void dispatch_call(const InterceptedCall& intercepted, const blas::Call* place) {
  if (place == nullptr) return dispatch(intercepted, nullptr);
  const blas::Call& call = *place;
  double volume = blas::volume(kind, call.m, call.n, call.k, sizeof(abi::Element<scalar>));
  if constexpr (blas::is_batch(kind)) volume *= static_cast<double>(call.products);
  const Parsed parsed{blas::valid(call),
                      blas::trivial(call),
                      volume,
                      blas::flops(call),
                      &call,
                      [](const void* made) { return blas::operation_of(*static_cast<const blas::Call*>(made)); },
                      !call.conjugated && !blas::is_scattered(call),
                      [](const void* made) { return blas::likeness(*static_cast<const blas::Call*>(made)); }};
  dispatch(intercepted, &parsed);
}

}  // namespace blastoff::intercept
