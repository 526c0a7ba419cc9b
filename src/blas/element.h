// Reads elements of matrices in double precision, for checks.
#pragma once

#include <complex>
#include <cstring>

#include "blas/types.h"

namespace blastoff::blas {

inline std::complex<double> element(Scalar scalar, const char* at) {
  const auto load = [&]<class Element>(Element value) {
    std::memcpy(&value, at, sizeof value);
    return std::complex<double>(value);
  };
  switch (scalar) {
    case Scalar::s: return load(float());
    case Scalar::d: return load(double());
    case Scalar::c: return load(std::complex<float>());
    case Scalar::z: return load(std::complex<double>());
  }
  return {};
}

}  // namespace blastoff::blas
