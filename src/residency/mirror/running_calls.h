// Calls that have returned while the device still computes.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "device/device.h"
#include "device/points.h"

namespace blastoff::residency::mirror {

/// A call whose results all stay on the device may return before the device has computed them. Whoever uses the memory
/// of mirrors afterwards waits here: later calls on the device, the others on the host. Thread-safe.
class RunningCalls {
 public:
  explicit RunningCalls(device::Device& device) : points_(device) {}
  RunningCalls(const RunningCalls&) = delete;
  RunningCalls& operator=(const RunningCalls&) = delete;

  /// What has been queued so far is work of a call that returns now. If the device is several calls behind, waits for
  /// the oldest.
  device::Status add(device::Queue& queue);

  /// Work that is queued from here on runs after theirs.
  device::Status precede(device::CallQueues& queues);

  /// Blocks until none runs any more. (What a failed call has computed is lost; whoever reads it finds the device
  /// lost.)
  void finish();

 private:
  struct Call {
    const device::Queue* queue = nullptr;
    device::Point point;  ///< behind its work
  };
  std::vector<Call> latest_of_each_queue();

  device::PointSource points_;
  std::mutex mutex_;
  std::deque<Call> calls_;  ///< oldest first
};

}  // namespace blastoff::residency::mirror
