// Chooses a GPU, and asks what it can do.
#pragma once

#include "device/gpu/context.h"
#include "device/gpu/gpu_queue.h"
#include "device/open.h"

namespace blastoff::device::cuda {

struct Gpu {
  Properties properties;
  Capabilities capabilities;
};

/// Starts the driver, and counts the GPUs that it shows to this process. An error if there is none.
Result<int> count_gpus(const api::Driver& driver);

/// Starts the driver and selects the ordinal: the N of "cuda:N". Without N, considers the GPUs nearest to the process's
/// CPUs, and takes the one that the fewest processes of the run use. Among equals, takes the first from number (local
/// rank modulo their count) on. Errors list the GPUs that exist. GPUs before Volta are refused.
Result<int> choose_gpu(const api::Driver& driver, const Choice& choice);

/// The error of Context::retain(), with the GPU's compute mode if that may be the reason.
Error explain_no_context(const api::Driver& driver, api::CUdevice device, const Error& error);

/// Asks the driver; the context must be current.
Gpu inspect(Context& context, const Choice& choice, int ordinal);

/// Memory on `device`, in the form that virtual memory management requires.
api::CUmemAllocationProp allocation_properties(api::CUdevice device);

}  // namespace blastoff::device::cuda
