// Chooses a GPU, and asks what it can do.
#pragma once

#include "device/gpu/context.h"
#include "device/gpu/gpu_queue.h"
#include "device/open.h"

namespace blastoff::device::gpu {

struct Gpu {
  Properties properties;
  Capabilities capabilities;
};

/// Starts the driver and selects the ordinal: the N of "cuda:N". Without N, considers the GPUs nearest to the process's
/// CPUs, and takes the one that the fewest processes of the run use. Among equals, takes the first from number (local
/// rank modulo their count) on. Errors list the GPUs that exist. GPUs that are too old are refused.
Result<int> choose_gpu(const Driver& driver, const Choice& choice);

/// The error of Context::retain(), with the setting that may be the reason.
Error explain_no_context(const Driver& driver, int gpu, const Error& error);

/// Asks the driver; the context must be current.
Gpu inspect(Context& context, const Choice& choice, int ordinal);

/// The most bytes that one Driver::reserve() takes. Probes, since the driver's limit depends on the machine. Reserved
/// device addresses cost nothing but future page tables.
std::size_t probe_largest_reservation(const Driver& driver, std::size_t granularity);

}  // namespace blastoff::device::gpu
