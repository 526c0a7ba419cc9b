// Level-3 BLAS by cuBLAS.
#pragma once

#include "device/cuda/executor.h"

namespace blastoff::device::cuda {

bool runs_by_cublas(const operation::Operation& operation);
Result<std::unique_ptr<Executor>> create_cublas_executor(const ExecutorStream& stream);

inline constexpr ExecutorKind cublas_kind{runs_by_cublas, create_cublas_executor};

}  // namespace blastoff::device::cuda
