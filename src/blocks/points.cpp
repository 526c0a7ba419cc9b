#include "blocks/points.h"

#include <mutex>

#include "platform/stopwatch.h"

namespace blastoff::blocks {

struct PointSource::Events {
  std::mutex mutex;
  std::vector<std::unique_ptr<device::Event>> unused;
};

PointSource::PointSource(device::Device& device) : device_(device), events_(std::make_shared<Events>()) {}

device::Result<Point> PointSource::record(device::Queue& queue) {
  std::unique_ptr<device::Event> event;
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
  return Point(event.release(), [events = events_](device::Event* used) {
    std::unique_ptr<device::Event> owned(used);
    const std::lock_guard lock(events->mutex);
    events->unused.push_back(std::move(owned));
  });
}

device::Status wait_for(const Point& point, Counters& counters) {
  if (!point) return {};
  const platform::Stopwatch waiting;
  auto reached = point->synchronize();
  add(counters.waiting_seconds, waiting.seconds());
  return reached;
}

device::Status Uses::precede(device::Queue& queue) const {
  for (const Point& point : points_)
    if (auto ok = queue.wait(*point); !ok) return ok;
  return {};
}

void Uses::finish(Counters& counters) {
  for (const Point& point : points_) (void)wait_for(point, counters);
  points_.clear();
}

void Uses::limit(Counters& counters) {
  constexpr std::size_t most = 16;
  if (points_.size() <= most) return;
  const auto behind = points_.end() - static_cast<std::ptrdiff_t>(most / 2);
  for (auto point = points_.begin(); point != behind; ++point) (void)wait_for(*point, counters);
  points_.erase(points_.begin(), behind);
}

}  // namespace blastoff::blocks
