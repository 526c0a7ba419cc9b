// The options and coefficients of a BLAS call in the words of NVIDIA's libraries.
#pragma once

#include <complex>
#include <cstring>

#include "blas/call.h"
#include "device/gpu/cuda/cublas/api.h"

namespace blastoff::device::gpu::cuda {

/// A coefficient in the routine's own element type. The real part comes first; real coefficients (of herk, and beta of
/// her2k) are that part alone.
class HostScalar {
 public:
  HostScalar(blas::Coefficient value, blas::Scalar scalar) {
    const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
    if (single) {
      const std::complex<float> narrow(static_cast<float>(value.real()), static_cast<float>(value.imag()));
      std::memcpy(bytes_, &narrow, sizeof narrow);
    } else {
      std::memcpy(bytes_, &value, sizeof value);
    }
  }
  const void* address() const { return bytes_; }

 private:
  alignas(16) unsigned char bytes_[16] = {};
};

inline int side(const blas::Call& call) {
  return call.side == blas::Side::left ? api::side_left : api::side_right;
}
inline int fill(const blas::Call& call) {
  return call.uplo == blas::Uplo::upper ? api::fill_upper : api::fill_lower;
}
inline int diagonal(const blas::Call& call) {
  return call.diagonal == blas::Diagonal::unit ? api::diagonal_unit : api::diagonal_non_unit;
}

inline int operation(blas::Transpose transpose, blas::Scalar scalar) {
  if (transpose == blas::Transpose::none) return api::operation_none;
  const bool conjugate = transpose == blas::Transpose::conjugate && blas::is_complex(scalar);
  return conjugate ? api::operation_conjugate : api::operation_transpose;
}

}  // namespace blastoff::device::gpu::cuda
