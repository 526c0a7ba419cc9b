// A device that does its work late: every queue has a thread of its own that waits a random time before each piece of
// work. Ordering mistakes of a policy (a missing event, a slot that is reused too early, memory that is released during
// a copy) give wrong results here, while they go unnoticed on the simulated device, which does all work immediately.
// Releasing memory that queued work still uses is reported as a test failure.
#pragma once

#include <memory>

#include "forwarding_device.h"

namespace blastoff::test {

/// `longest_microseconds`: the longest time before a piece of work.
std::unique_ptr<device::Device> delayed(std::unique_ptr<device::Device> device, unsigned seed,
                                        int longest_microseconds);

}  // namespace blastoff::test
