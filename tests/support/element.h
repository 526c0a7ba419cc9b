// Writes elements of matrices. blas/element.h reads them.
#pragma once

#include <complex>
#include <cstring>

#include "blas/element.h"

namespace blastoff::test {

inline void write_element(blas::Scalar scalar, void* at, std::complex<double> value) {
  const std::complex<float> narrow(value);
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  std::memcpy(at, single ? static_cast<const void*>(&narrow) : &value, blas::element_size(scalar));
}

}  // namespace blastoff::test
