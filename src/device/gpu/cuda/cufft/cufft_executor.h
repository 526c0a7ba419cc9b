// Runs transforms of FFTW's interface with cuFFT.
#pragma once

#include "device/gpu/executor.h"

namespace blastoff::device::gpu::cuda {

bool runs_by_cufft(const operation::Operation& operation);
Result<std::unique_ptr<ExecutorLibrary>> open_cufft(const LibrarySearch& search);

inline constexpr ExecutorKind cufft_kind{runs_by_cufft, open_cufft, true, "FFTW"};

}  // namespace blastoff::device::gpu::cuda
