// --verify: are the mirrors that a call is about to read what host memory holds?
#pragma once

#include <cstdint>

#include "device/device.h"
#include "operation/operation.h"
#include "residency/mirror/coherence.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

/// Brings every operand that the call reads back to the host and compares the operand's own bytes (neighbours may be
/// written by other threads meanwhile). Returns the number of pages that differ; their operands are uploaded anew on
/// `queue`.
device::Result<std::uint64_t> repair_stale_pages(const operation::Operation& call, Coherence& coherence,
                                                 Staging& staging, device::Queue& queue);

}  // namespace blastoff::residency::mirror
