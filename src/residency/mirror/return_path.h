// Bringing a call's results home, panel by panel: straight into pinned application memory, or through staging.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "residency/mirror/commit_log.h"
#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

/// One result of a panel: where it is to lie, and where the device has it.
struct Returned {
  const operation::Operand* host = nullptr;
  const operation::Operand* device = nullptr;
};

/// The way home of those of a call's results that take it. Panels are sent in order; wait() ends it.
class ReturnPath {
 public:
  virtual ~ReturnPath() = default;
  /// Queues the way home of a panel's results, whose operation has been queued on lane.compute.
  virtual device::Status send(std::size_t panel, std::span<const Returned> results) = 0;
  /// Blocks until all panels sent are in host memory.
  virtual device::Status wait() = 0;
  /// After an error; nothing is in flight any more.
  virtual HostState state(std::size_t panel) = 0;
};

/// Into pinned memory. `computed` and `diagonal_home` order the lane's queues; they are of one queue each, since an
/// event that two queues record may go back. `log` may be nullptr where a torn result does no harm, since the call
/// reads none of its results.
std::unique_ptr<ReturnPath> direct_return(device::Lane& lane, device::Event& computed, device::Event& diagonal_home,
                                          CommitLog* log);

/// Through staging.
std::unique_ptr<ReturnPath> staged_return(device::Lane& lane, device::Event& computed, Staging& staging);

}  // namespace blastoff::residency::mirror
