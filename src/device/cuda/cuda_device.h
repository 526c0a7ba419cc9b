// An NVIDIA GPU.
#pragma once

#include "device/open.h"

namespace blastoff::device::cuda {

/// `choice.name` is "cuda" or "cuda:N".
Result<std::unique_ptr<Device>> open(const Choice& choice);

}  // namespace blastoff::device::cuda
