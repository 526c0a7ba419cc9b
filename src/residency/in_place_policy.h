// Operands are used where they are: the device gets the program's own addresses, and nothing has to come home. Before
// its first use a matrix may be moved to the device's memory, as a whole and for good.
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

/// For devices with a HostAccess. `events` tells which moved memory went away; without it (null) memory that has been
/// moved is asked about again every so often. A device that is lost while it computes leaves a result that is torn.
std::unique_ptr<Policy> create_in_place_policy(platform::WorkerPool& pool, tracking::MemoryEvents* events,
                                               const InPlaceSettings& settings);

}  // namespace blastoff::residency
