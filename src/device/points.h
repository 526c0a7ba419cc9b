// Points in the work of devices that have to be reached before memory is used.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "device/device.h"

namespace blastoff::device {

/// Recorded in a queue or a stream, once. Null: has been reached.
using Point = std::shared_ptr<Event>;

/// Makes points out of events, which are used again. Thread-safe; outlived by the device, and by nothing else: points
/// may outlive it.
class PointSource {
 public:
  explicit PointSource(Device& device);

  /// Everything that has been queued so far.
  Result<Point> record(Queue& queue);

 private:
  struct Events;
  Device& device_;
  std::shared_ptr<Events> events_;
};

/// The uses of some memory that may still run. Used by one thread at a time.
class PendingUses {
 public:
  void add(Point point) {
    if (point) points_.push_back(std::move(point));
  }
  void clear() { points_.clear(); }

  /// Later work of the queue runs after them.
  Status precede(Queue& queue) const;
  /// Blocks until none runs any more, and returns the seconds that took; then there are none. (Work that failed is
  /// over, too: who needs what it made is told elsewhere.)
  double finish();
  /// The same for all but the latest few, so that there are never many.
  double limit();

 private:
  double finish(std::size_t count);

  std::vector<Point> points_;
};

}  // namespace blastoff::device
