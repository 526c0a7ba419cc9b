// Run operations with cuBLAS, cuSOLVER and cuFFT.
#pragma once

#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

bool runs_by_cublas(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cublas(const LibrarySearch& search);
bool runs_by_cusolver(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cusolver(const LibrarySearch& search);
bool runs_by_cufft(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cufft(const LibrarySearch& search);

inline constexpr ExecutorKind cublas_kind{runs_by_cublas, open_cublas, false, "BLAS"};
inline constexpr ExecutorKind cusolver_kind{runs_by_cusolver, open_cusolver, true, "LAPACK"};
inline constexpr ExecutorKind cufft_kind{runs_by_cufft, open_cufft, true, "FFTW"};

}  // namespace blastoff::device::gpu::cuda
