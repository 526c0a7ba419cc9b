// Runs LAPACK operations with cuSOLVER.
#pragma once

#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

bool runs_by_cusolver(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cusolver(const LibrarySearch& search);

inline constexpr ExecutorKind cusolver_kind{runs_by_cusolver, open_cusolver, true, "LAPACK"};

}  // namespace blastoff::device::gpu::cuda
