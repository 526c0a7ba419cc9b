// Returning a call's results to host memory, panel by panel: directly into the program's pinned memory, or through
// staging. And leaving them on the device.
#pragma once

#include <memory>
#include <span>

#include "device/device.h"
#include "residency/commit_log.h"
#include "residency/mirror/page_acquisition.h"
#include "residency/policy.h"
#include "residency/staging.h"

namespace blastoff::residency::mirror {

class Coherence;

/// One result of a panel: its place in host memory and on the device.
struct Returned {
  const operation::Operand* host = nullptr;
  const operation::Operand* device = nullptr;
};

/// Returns those results of a call that take this path. Panels are sent in order; wait() ends the return.
class ReturnPath {
 public:
  virtual ~ReturnPath() = default;
  /// Queues the copies of a panel's results, after the panel's operation has been queued on queues.compute.
  virtual device::Status send(std::size_t panel, std::span<const Returned> results) = 0;
  /// Blocks until all panels sent are in host memory.
  virtual device::Status wait() = 0;
  /// What host memory holds of a panel after an error, when nothing is in flight any more.
  virtual HostState state(std::size_t panel) = 0;
};

/// Returns into pinned memory. `computed` and `diagonal_home` order the call's queues. Each is recorded by one queue
/// only, because an event that two queues record may go back in time. `log` may be nullptr if a partly written result
/// does no harm, since the call reads none of its results.
std::unique_ptr<ReturnPath> direct_return(device::CallQueues& queues, device::Event& computed,
                                          device::Event& diagonal_home, CommitLog* log);

/// Returns through staging.
std::unique_ptr<ReturnPath> staged_return(device::CallQueues& queues, device::Event& computed, Staging& staging);

/// Leaves results on the device. When the operation has run, wait() brings home what they have on pages that cannot be
/// given up, and the host's other pages are given up. A result that cannot stay goes home whole. `traffic`: what went
/// home, and what stayed. All must outlive it; not to be waited for if the operation has failed.
std::unique_ptr<ReturnPath> staying_return(Coherence& coherence, PageAcquisition& acquisition,
                                           device::CallQueues& queues, Staging& staging, Traffic& traffic);

}  // namespace blastoff::residency::mirror
