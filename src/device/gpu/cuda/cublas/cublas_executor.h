// Runs BLAS operations with cuBLAS.
#pragma once

#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

bool runs_by_cublas(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cublas(const LibrarySearch& search);

inline constexpr ExecutorKind cublas_kind{runs_by_cublas, open_cublas, false, "BLAS"};

}  // namespace blastoff::device::gpu::cuda
