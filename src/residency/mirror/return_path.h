// Bringing a call's result home, panel by panel: straight into pinned application memory, or through staging.
#pragma once

#include <memory>
#include <vector>

#include "device/device.h"
#include "residency/mirror/coherence.h"
#include "residency/mirror/commit_log.h"
#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

/// One call's way home. Panels are sent in order; wait() ends it.
class ReturnPath {
 public:
  virtual ~ReturnPath() = default;
  /// Queues the way home of a panel's result, whose operation has been queued on lane.compute.
  virtual device::Status send(std::size_t panel, const operation::Operand& host, const operation::Operand& device) = 0;
  /// Blocks until all panels sent are in host memory.
  virtual device::Status wait() = 0;
  /// After an error; nothing is in flight any more.
  virtual HostState state(std::size_t panel) = 0;
  virtual Return kind() const = 0;
};

/// Into pinned memory. `computed` and `diagonal_home` order the lane's queues; they are of one queue each, since an
/// event that two queues record may go back. `log` may be nullptr where a torn result does no harm, since the call
/// never reads it.
std::unique_ptr<ReturnPath> direct_return(device::Lane& lane, device::Event& computed, device::Event& diagonal_home,
                                          CommitLog* log);

/// Through staging.
std::unique_ptr<ReturnPath> staged_return(device::Lane& lane, device::Event& computed, Staging& staging);

}  // namespace blastoff::residency::mirror
