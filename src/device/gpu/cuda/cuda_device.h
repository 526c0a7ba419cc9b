// An NVIDIA GPU.
#pragma once

#include <string>

#include "device/open.h"

namespace blastoff::device::cuda {

/// `choice.name` is "cuda" or "cuda:N".
Result<std::unique_ptr<Device>> open(const Choice& choice);

/// Number of GPUs that the driver shows to this process; at least 1.
Result<int> count(const Choice& choice);

/// See device::expected().
Expected expected();

/// See device::absence().
std::string absence();

}  // namespace blastoff::device::cuda
