// --verify: do the mirrors that a call is about to read equal host memory?
#pragma once

#include <cstdint>

#include "device/device.h"
#include "residency/mirror/coherence.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

/// Downloads every mirrored operand that the call reads and compares its own bytes (other threads may be writing the
/// neighbouring ones). Returns the number of pages that differ; their operands are uploaded again on `queue`.
device::Result<std::uint64_t> repair_stale_pages(const PageAcquisition& acquisition, Staging& staging,
                                                 device::Queue& queue);

}  // namespace blastoff::residency::mirror
