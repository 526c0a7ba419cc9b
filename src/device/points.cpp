#include "device/points.h"

#include <mutex>

#include "platform/stopwatch.h"

namespace blastoff::device {

struct PointSource::Events {
  std::mutex mutex;
  std::vector<std::unique_ptr<Event>> unused;
};

PointSource::PointSource(Device& device) : device_(device), events_(std::make_shared<Events>()) {}

Result<Point> PointSource::record(Queue& queue) {
  std::unique_ptr<Event> event;
  {
    const std::lock_guard lock(events_->mutex);
    if (!events_->unused.empty()) {
      event = std::move(events_->unused.back());
      events_->unused.pop_back();
    }
  }
  if (!event) {
    auto created = device_.create_event();
    if (!created) return tl::unexpected(std::move(created.error()));
    event = std::move(*created);
  }
  if (auto recorded = queue.record(*event); !recorded) return tl::unexpected(std::move(recorded.error()));
  // Who waits for an event waits for its latest record before: it can be used again at once.
  return Point(event.release(), [events = events_](Event* used) {
    std::unique_ptr<Event> owned(used);
    const std::lock_guard lock(events->mutex);
    events->unused.push_back(std::move(owned));
  });
}

Status PendingUses::precede(Queue& queue) const {
  for (const Point& point : points_)
    if (auto ok = queue.wait(*point); !ok) return ok;
  return {};
}

double PendingUses::finish() {
  return points_.empty() ? 0 : finish(points_.size());
}

double PendingUses::limit() {
  constexpr std::size_t max_points = 16;
  return points_.size() <= max_points ? 0 : finish(points_.size() - max_points / 2);
}

/// The oldest ones.
double PendingUses::finish(std::size_t count) {
  const platform::Stopwatch waiting;
  const auto behind = points_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto point = points_.begin(); point != behind; ++point) (void)(*point)->synchronize();
  points_.erase(points_.begin(), behind);
  return waiting.seconds();
}

}  // namespace blastoff::device
