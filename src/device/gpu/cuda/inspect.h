// What CUDA tells about a GPU before and after it is opened: functions of the driver's table.
#pragma once

#include "device/gpu/choose_gpu.h"
#include "device/gpu/cuda/api.h"

namespace blastoff::device::gpu::cuda {

/// Memory on a GPU, in the form that virtual memory management requires.
api::CUmemAllocationProp allocation_properties(int gpu);

bool uses_host_page_tables(int gpu);

/// GPUs before Volta are too old.
std::string why_too_old(int gpu);

/// The compute mode that an administrator has set (nvidia-smi -c).
std::string why_closed(int gpu);

/// See Driver::inspect.
void inspect(const Driver& driver, int gpu, const Choice& choice, Gpu& found);

}  // namespace blastoff::device::gpu::cuda
