// A GPU of any vendor.
#pragma once

#include <memory>
#include <span>

#include "device/gpu/driver.h"
#include "device/gpu/executor.h"
#include "device/open.h"

namespace blastoff::device::gpu {

/// Opens the GPU that `choice` names by the driver's kind: "KIND" or "KIND:N". `executors`: the vendor's libraries.
Result<std::unique_ptr<Device>> open(Result<Driver> (*load)(), std::span<const ExecutorKind> executors,
                                     const Choice& choice);

}  // namespace blastoff::device::gpu
