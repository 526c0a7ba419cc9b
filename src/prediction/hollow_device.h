// A GPU without memory and without arithmetic. Copies and operations take their time on a timeline, and do nothing
// else. No address is dereferenced.
#pragma once

#include <memory>

#include "device/device.h"
#include "prediction/machine.h"
#include "prediction/timeline.h"
#include "residency/staging.h"

namespace blastoff::prediction {

class ReplayedTracker;

/// The machine, the clock and the engines must outlive the device. `memory`: bytes of device memory that the process
/// may use.
std::unique_ptr<device::Device> hollow_device(const Machine& machine, Clock& clock, Engines& engines,
                                              std::size_t memory);

/// Staging for that device. Tells `tracker` that the CPU has written what downloads return to host memory.
std::unique_ptr<residency::Staging> hollow_staging(const Machine& machine, Clock& clock, Engines& engines,
                                                   ReplayedTracker& tracker);

}  // namespace blastoff::prediction
