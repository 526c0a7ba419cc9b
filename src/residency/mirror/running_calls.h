// Calls that have returned while the device still computes.
#pragma once

#include <cstddef>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "device/device.h"
#include "device/points.h"
#include "ledger/states.h"

namespace blastoff::residency::mirror {

/// A call whose results all stay on the device may return before the device has computed them. Whoever uses the memory
/// of mirrors afterwards waits here: later calls on the device, the others on the host. Thread-safe.
class RunningCalls {
 public:
  explicit RunningCalls(device::Device& device) : points_(device) {}
  RunningCalls(const RunningCalls&) = delete;
  RunningCalls& operator=(const RunningCalls&) = delete;

  /// Device memory of an operand, from its first byte to its last.
  struct Use {
    device::Address begin = 0;
    std::size_t bytes = 0;
    bool writes = false;
  };

  /// Waits until add() need not wait for the oldest call, unless others add some meanwhile.
  device::Status make_room();

  /// What has been queued so far is work of a call that returns soon. If the device is several calls behind, waits for
  /// the oldest.
  device::Status add(device::Queue& queue, std::vector<Use> uses);

  /// Work that is queued from here on runs after theirs.
  device::Status precede(device::CallQueues& queues);

  /// Blocks until none runs any more. (What a failed call has computed is lost; whoever reads it finds the device
  /// lost.)
  void finish();

  /// The same for those that write any of this memory: it can be read.
  void finish_writers(std::span<const ledger::PagesOnDevice> memory);
  /// The same for those that read or write any of it: it can be written.
  void finish_users(std::span<const device::Run> memory);

 private:
  struct Call {
    const device::Queue* queue = nullptr;
    device::Point point;  ///< behind its work
    std::vector<Use> uses;
  };
  std::vector<Call> latest_of_each_queue();
  device::Status finish(const device::Point& point);
  template <class Predicate>
  void finish_those(Predicate&& predicate);

  device::PointSource points_;
  std::mutex mutex_;
  std::deque<Call> calls_;  ///< oldest first
};

}  // namespace blastoff::residency::mirror
