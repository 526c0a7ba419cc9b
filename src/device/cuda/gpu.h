// Which GPU, and what it can do.
#pragma once

#include "device/cuda/context.h"
#include "device/cuda/cuda_queue.h"
#include "device/open.h"

namespace blastoff::device::cuda {

struct Gpu {
  Properties properties;
  Capabilities capabilities;
};

/// Starts the driver, and counts the GPUs that it shows this process. An error where there is none.
Result<int> count_gpus(const api::Driver& driver);

/// Starts the driver and selects the ordinal: the N of "cuda:N", else the local rank modulo the number of GPUs, else 0.
/// Errors list the GPUs that exist. GPUs before Volta are refused.
Result<int> choose_gpu(const api::Driver& driver, const Choice& choice);

/// Asks the driver; the context must be current.
Gpu inspect(Context& context, const Choice& choice, int ordinal);

/// Memory on `device`, in the form that virtual memory management requires.
api::CUmemAllocationProp allocation_properties(api::CUdevice device);

}  // namespace blastoff::device::cuda
