// A GPU without memory and without arithmetic: copies and operations take their time on a timeline and do nothing else.
// No address is followed.
#pragma once

#include <memory>

#include "device/device.h"
#include "prediction/machine.h"
#include "prediction/timeline.h"
#include "residency/staging.h"

namespace blastoff::prediction {

class ReplayedTracker;

/// The three must outlive the device. `memory`: bytes of device memory that the process may use.
std::unique_ptr<device::Device> hollow_device(const Machine& machine, Clock& clock, Engines& engines,
                                              std::size_t memory);

/// Staging on that device. What it returns to host memory the CPU has written, as `tracker` learns.
std::unique_ptr<residency::Staging> hollow_staging(const Machine& machine, Clock& clock, Engines& engines,
                                                   ReplayedTracker& tracker);

}  // namespace blastoff::prediction
