// An NVIDIA GPU.
#pragma once

#include "device/open.h"

namespace blastoff::device::cuda {

/// `choice.name` is "cuda" or "cuda:N".
Result<std::unique_ptr<Device>> open(const Choice& choice);

/// GPUs that the driver shows this process; at least 1.
Result<int> count(const Choice& choice);

}  // namespace blastoff::device::cuda
