// Operands are used where they are: the device gets the program's own addresses, and no result is copied back. Before
// its first use a matrix may be moved to the device's memory, completely and permanently.
#pragma once

#include <memory>

#include "platform/worker_pool.h"
#include "residency/policy.h"
#include "tracking/memory_events.h"

namespace blastoff::residency {

/// What happens to an operand before the device uses it.
enum class Before : std::uint8_t {
  nothing,   ///< it is read and written wherever it is ("coherent")
  move,      ///< its pages are moved to the device's NUMA node, once ("first-use")
  prefetch,  ///< the driver is asked to migrate it, each time ("first-use")
};

struct InPlaceSettings {
  Before before = Before::nothing;
  int node = -1;  ///< the device's, for Before::move
};

/// For devices with a HostAccess. `events` reports which moved memory was freed; without it (null), the kernel is asked
/// again at intervals whether memory has been moved. If the device is lost while it computes, the result is torn.
std::unique_ptr<Policy> create_in_place_policy(platform::WorkerPool& pool, tracking::MemoryEvents* events,
                                               const InPlaceSettings& settings);

}  // namespace blastoff::residency
