#include "residency/mirror/running_calls.h"

#include <algorithm>
#include <utility>

namespace blastoff::residency::mirror {

using device::Status;

namespace {

// One call runs, and the next one is ready. Some more even out calls of different lengths.
constexpr std::size_t max_calls = 4;

}  // namespace

Status RunningCalls::add(device::Queue& queue) {
  auto point = points_.record(queue);
  if (!point) return tl::unexpected(std::move(point.error()));
  device::Point oldest;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({&queue, std::move(*point)});
    if (calls_.size() > max_calls) {
      oldest = std::move(calls_.front().point);
      calls_.pop_front();
    }
  }
  return oldest ? oldest->synchronize() : Status{};
}

/// The work of a queue runs in order.
std::vector<RunningCalls::Call> RunningCalls::latest_of_each_queue() {
  const std::lock_guard lock(mutex_);
  std::vector<Call> latest;
  for (auto call = calls_.rbegin(); call != calls_.rend(); ++call)
    if (std::ranges::find(latest, call->queue, &Call::queue) == latest.end()) latest.push_back(*call);
  return latest;
}

Status RunningCalls::precede(device::CallQueues& queues) {
  for (const Call& call : latest_of_each_queue())
    for (device::Queue* const queue : {queues.upload.get(), queues.compute.get(), queues.download.get()})
      if (queue != call.queue)
        if (auto ordered = queue->wait(*call.point); !ordered) return ordered;
  return {};
}

void RunningCalls::finish() {
  for (;;) {
    device::Point oldest;
    {
      const std::lock_guard lock(mutex_);
      if (calls_.empty()) return;
      oldest = calls_.front().point;
    }
    (void)oldest->synchronize();
    const std::lock_guard lock(mutex_);
    if (!calls_.empty() && calls_.front().point == oldest) calls_.pop_front();
  }
}

}  // namespace blastoff::residency::mirror
