// The routines of level 1 that change vectors, computed as the reference BLAS does, for comparison in tests.
#pragma once

#include <complex>
#include <cstdint>
#include <utility>

#include "blas/vector_call.h"
#include "operation/host.h"

namespace blastoff::reference {
namespace detail {

template <class T>
void compute(const blas::VectorCall& call) {
  const blas::VectorRoutineRow& of = call.row();
  const auto& [x, y] = call.x_and_y;
  const auto first = [&](const blas::Vector& vector) {
    return vector.increment < 0 ? (1 - call.n) * vector.increment : 0;
  };
  auto* ax = static_cast<T*>(x.address) + first(x);
  auto* ay = y.address == nullptr ? nullptr : static_cast<T*>(y.address) + first(y);
  using blas::VectorKind;
  const bool real = !blas::is_complex(of.factor);
  T alpha{};
  if constexpr (requires { alpha.real(); }) {
    using Real = typename T::value_type;
    alpha = {static_cast<Real>(call.alpha[0]), static_cast<Real>(call.alpha[1])};
  } else {
    alpha = static_cast<T>(call.alpha[0]);
  }
  const auto scaled = [&](T value) {
    if constexpr (requires { value.real(); })
      if (real) return value * alpha.real();
    return value * alpha;
  };
  for (std::int64_t i = 0; i < call.n; ++i, ax += x.increment, ay += ay == nullptr ? 0 : y.increment) {
    switch (of.kind) {
      case VectorKind::swap: std::swap(*ax, *ay); break;
      case VectorKind::copy: *ay = *ax; break;
      case VectorKind::scal: *ax = scaled(*ax); break;
      case VectorKind::axpy: *ay += scaled(*ax); break;
    }
  }
}

}  // namespace detail

inline void compute(const blas::VectorCall& call) {
  switch (call.row().scalar) {
    case blas::Scalar::s: return detail::compute<float>(call);
    case blas::Scalar::d: return detail::compute<double>(call);
    case blas::Scalar::c: return detail::compute<std::complex<float>>(call);
    case blas::Scalar::z: return detail::compute<std::complex<double>>(call);
  }
}

class VectorHost final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override { return blas::is_vector_call(operation); }
  bool compute(const operation::Operation& operation) const override {
    reference::compute(blas::vector_call_of(operation));
    return true;
  }
};

}  // namespace blastoff::reference
