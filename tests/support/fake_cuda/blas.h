// What the fake cuBLAS, cuBLASMp and cuSOLVERMp read of a call for the reference BLAS.
#pragma once

#include "blas/call.h"
#include "device/gpu/cuda/cublas/api.h"
#include "device/gpu/cuda/cusolver/api.h"

namespace blastoff::fake_cuda {

inline blas::Scalar scalar_of(int type) {
  using namespace device::gpu::cuda::api;
  return type == type_real_32      ? blas::Scalar::s
         : type == type_real_64    ? blas::Scalar::d
         : type == type_complex_32 ? blas::Scalar::c
                                   : blas::Scalar::z;
}

inline blas::Routine find_routine(blas::Kind kind, blas::Scalar scalar) {
  std::size_t index = 0;
  while (blas::routines()[index].kind != kind || blas::routines()[index].scalar != scalar) ++index;
  return static_cast<blas::Routine>(index);
}

/// `real`: a complex routine has a real coefficient.
inline blas::Coefficient coefficient(const void* address, blas::Scalar scalar, bool real = false) {
  const bool single = scalar == blas::Scalar::s || scalar == blas::Scalar::c;
  const auto part = [&](int i) {
    return single ? static_cast<double>(static_cast<const float*>(address)[i]) : static_cast<const double*>(address)[i];
  };
  return real || !blas::is_complex(scalar) ? blas::Coefficient(part(0)) : blas::Coefficient(part(0), part(1));
}

inline blas::Transpose transpose(int operation) {
  using namespace device::gpu::cuda::api;
  if (operation == operation_none) return blas::Transpose::none;
  return operation == operation_transpose ? blas::Transpose::transpose : blas::Transpose::conjugate;
}

}  // namespace blastoff::fake_cuda
