// gemmt, which cuBLAS does not have: a general product that writes only one triangle of C.
#pragma once

#include "blas/call.h"
#include "device/gpu/cuda/cublas/operations.h"
#include "device/gpu/triangle_kernel.h"

namespace blastoff::device::gpu::cuda {

/// Largest order of a square on the diagonal.
constexpr std::int64_t largest_diagonal_square = 512;

/// Bytes of device memory that a call needs besides its operands.
std::size_t triangular_product_scratch(const blas::Call& call);

/// Queues a gemmt as gemms of column panels. Blocks off the diagonal are computed directly in C. Each square on the
/// diagonal is computed completely in `scratch`, and its triangle is copied to C. The context must be current.
Status run_triangular_product(const blas::Call& call, const BlasHandle& handle, const TriangleKernel& kernel,
                              Address scratch, StreamHandle stream);

}  // namespace blastoff::device::gpu::cuda
