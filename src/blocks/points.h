// Points in the work of devices that have to be reached before memory is used.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "blocks/error.h"
#include "blocks/options.h"
#include "device/device.h"

namespace blastoff::blocks {

/// Recorded in a queue or a stream, once. Null: has been reached.
using Point = std::shared_ptr<device::Event>;

/// Makes points out of events, which are used again. Thread-safe; outlived by the device, and by nothing else: points
/// may outlive it.
class PointSource {
 public:
  explicit PointSource(device::Device& device);

  /// Everything that has been queued so far.
  device::Result<Point> record(device::Queue& queue);

 private:
  struct Events;
  device::Device& device_;
  std::shared_ptr<Events> events_;
};

/// Blocks until it has been reached; the time counts.
device::Status wait_for(const Point& point, Counters& counters);

/// The uses of some memory that may still run. Used by one thread at a time.
class Uses {
 public:
  void add(Point point) {
    if (point) points_.push_back(std::move(point));
  }
  void clear() { points_.clear(); }
  bool empty() const { return points_.empty(); }
  std::size_t count() const { return points_.size(); }

  /// Later work of the queue runs after them.
  device::Status precede(device::Queue& queue) const;
  /// Blocks until none runs any more; then there are none. (Work that failed is over, too: who needs what it made is
  /// told elsewhere.)
  void finish(Counters& counters);
  /// The same for all but the latest few, so that there are never many.
  void limit(Counters& counters);

 private:
  std::vector<Point> points_;
};

}  // namespace blastoff::blocks
