#include "residency/mirror/running_calls.h"

#include <algorithm>
#include <utility>

namespace blastoff::residency::mirror {

using device::Status;

namespace {

// One call runs, and the next one is ready. Some more even out calls of different lengths.
constexpr std::size_t max_calls = 4;

bool overlap(const RunningCalls::Use& use, device::Address begin, std::size_t bytes) {
  return use.begin < begin + bytes && begin < use.begin + use.bytes;
}

}  // namespace

Status RunningCalls::make_room() {
  device::Point oldest;
  {
    const std::lock_guard lock(mutex_);
    if (calls_.size() >= max_calls) oldest = calls_.front().point;
  }
  return oldest ? finish(oldest) : Status{};
}

Status RunningCalls::add(device::Queue& queue, std::vector<Use> uses) {
  auto point = points_.record(queue);
  if (!point) return tl::unexpected(std::move(point.error()));
  device::Point oldest;
  {
    const std::lock_guard lock(mutex_);
    calls_.push_back({&queue, std::move(*point), std::move(uses)});
    if (calls_.size() > max_calls) oldest = calls_.front().point;
  }
  return oldest ? finish(oldest) : Status{};
}

/// It is known to others until it is over.
Status RunningCalls::finish(const device::Point& point) {
  auto finished = point->synchronize();
  const std::lock_guard lock(mutex_);
  std::erase_if(calls_, [&](const Call& call) { return call.point == point; });
  return finished;
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
    (void)finish(oldest);
  }
}

// Others may add calls meanwhile. They do not concern the caller, whose pages are as they were when it asked.
template <class Predicate>
void RunningCalls::finish_those(Predicate&& predicate) {
  std::vector<device::Point> points;
  {
    const std::lock_guard lock(mutex_);
    for (const Call& call : calls_)
      if (std::ranges::any_of(call.uses, predicate)) points.push_back(call.point);
  }
  for (const device::Point& point : points) (void)finish(point);
}

void RunningCalls::finish_writers(std::span<const ledger::PagesOnDevice> memory) {
  finish_those([&](const Use& use) {
    return use.writes && std::ranges::any_of(memory, [&](const ledger::PagesOnDevice& run) {
             return overlap(use, run.device, run.host.bytes());
           });
  });
}

void RunningCalls::finish_users(std::span<const device::Run> memory) {
  finish_those([&](const Use& use) {
    return std::ranges::any_of(memory, [&](const device::Run& run) { return overlap(use, run.device, run.bytes); });
  });
}

}  // namespace blastoff::residency::mirror
