// Copies of a block from place to place.

#include <algorithm>

#include "blocks/block.h"
#include "blocks/engine.h"
#include "platform/stopwatch.h"

namespace blastoff::blocks {

namespace {

using platform::Span;

/// So many bytes in a row.
device::Block run_of(std::size_t bytes) {
  return {bytes, 1, bytes, bytes};
}

}  // namespace

/// Starts what makes the place current.
Status Block::bring(int place) {
  if (!defined_ || at(place).stale.empty()) return {};
  if (stored_ && !source(place)) {
    if (auto ok = restore(); !ok || place == host_place) return ok;
  }
  const auto from = source(place);
  if (!from) return failure(ErrorKind::device_lost, "the newest version of a block was on a device that has failed");
  if (is_direct(place, *from)) {
    auto copied = copy_between(place, *from);
    if (copied || copied.error().kind != ErrorKind::unsupported) return copied;
  }
  if (!current(host_place)) {
    if (auto ok = allocate(host_place); !ok) return ok;
    if (auto ok = download(*from, bytes_); !ok) return ok;
  }
  return place == host_place ? Status{} : upload(place);
}

/// Whether copies from one device to the other do without the host.
bool Block::is_direct(int place, int from) {
  return place != host_place && from != host_place && engine_.options().direct != 0 &&
         engine_.direct_copies().possible(engine_.site(place).device(), engine_.site(from).device());
}

/// From another device, which is current, what the place lacks.
Status Block::copy_between(int place, int from) {
  // As in upload(): nothing may be made of the content of a device that fails.
  if (auto ok = wait_until_ready(from); !ok) return ok;
  Place& source = at(from);
  Place& to = at(place);
  auto queued = queue_copies(place, to.stale, [&](device::Queue& queue, Span span) {
    return queue.copy_between(to.address + span.begin, source.address + span.begin, span.bytes());
  });
  if (!queued) return tl::unexpected(queued.error());
  to.stale.clear();
  source.uses.add(queued->arrived);
  Counters& counters = engine_.counters();
  ++counters.copies_between_devices;
  counters.bytes_between_devices += queued->bytes;
  counters.waited(source.uses.limit());
  return engine_.options().asynchronous ? Status{} : wait_until_ready(place);
}

/// `copy` for each of these spans of the place, after all that uses the place. It is ready when they have arrived.
template <class Copy>
Result<Block::Queued> Block::queue_copies(int place, const platform::IntervalSet& offsets, const Copy& copy) {
  Place& to = at(place);
  Site& site = engine_.site(place);
  Queued result;
  auto queued = site.copies().to_device().run([&](device::Queue& queue) -> device::Status {
    if (auto ok = await_uses(to, queue); !ok) return ok;
    device::Status copied;
    offsets.all_of([&](Span span) {
      result.bytes += span.bytes();
      copied = copy(queue, span);
      return copied.has_value();
    });
    if (!copied) return copied;
    auto recorded = site.points().record(queue);
    if (!recorded) return tl::unexpected(recorded.error());
    result.arrived = std::move(*recorded);
    return {};
  });
  if (!queued) return failed(place, queued.error());
  to.ready = result.arrived;
  to.uses.clear();
  return result;
}

/// Later work of the queue may overwrite what is there.
device::Status Block::await_uses(const Place& there, device::Queue& queue) {
  if (there.ready)
    if (auto ok = queue.wait(*there.ready); !ok) return ok;
  return there.uses.precede(queue);
}

/// From the host, which is current, what the place lacks.
Status Block::upload(int place) {
  // The content of host memory may come from a device that fails. Then it must not be used.
  if (auto ok = wait_until_ready(host_place); !ok) return ok;
  Place& to = at(place);
  if (auto queued = queue_upload(place, to.stale); !queued) return queued;
  to.stale.clear();
  ++engine_.counters().copies_to_device;
  return engine_.options().asynchronous ? Status{} : wait_until_ready(place);
}

/// Copies these bytes from the host, after all that uses them at the place.
Status Block::queue_upload(int place, const platform::IntervalSet& offsets) {
  const Place& to = at(place);
  auto queued = queue_copies(place, offsets, [&](device::Queue& queue, Span span) {
    return queue.copy_to_device(to.address + span.begin, host_pointer(home().address + span.begin),
                                run_of(span.bytes()));
  });
  if (!queued) return tl::unexpected(queued.error());
  home().uses.add(queued->arrived);
  Counters& counters = engine_.counters();
  counters.bytes_to_device += queued->bytes;
  counters.waited(home().uses.limit());
  return {};
}

/// To the host, from a device that is current. The arrival of parts can be awaited one by one.
Status Block::download(int place, std::size_t part_bytes) {
  Place& from = at(place);
  Place& to = home();
  Site& site = engine_.site(place);
  if (program_) program_->begin_overwrite();
  parts_.clear();
  std::uint64_t bytes = 0;
  auto queued = site.copies().from_device().run([&](device::Queue& queue) -> device::Status {
    if (from.ready)
      if (auto ok = queue.wait(*from.ready); !ok) return ok;
    if (auto ok = await_uses(to, queue); !ok) return ok;
    for (std::size_t end = 0; end < bytes_;) {
      const Span part{end, end + std::min(part_bytes, bytes_ - end)};
      device::Status copied;
      to.stale.all_of([&](Span span) {
        span = {std::max(span.begin, part.begin), std::min(span.end, part.end)};
        if (span.empty()) return true;
        bytes += span.bytes();
        copied =
            queue.copy_to_host(host_pointer(to.address + span.begin), from.address + span.begin, run_of(span.bytes()));
        return copied.has_value();
      });
      if (!copied) return copied;
      auto recorded = site.points().record(queue);
      if (!recorded) return tl::unexpected(recorded.error());
      end = part.end;
      parts_.push_back({end, std::move(*recorded), place});
    }
    return {};
  });
  if (!queued) {
    parts_.clear();
    if (program_) program_->end_overwrite();
    return failed(place, queued.error());
  }
  const Point point = parts_.back().arrived;
  to.ready = point;
  to.uses.clear();
  to.stale.clear();
  from.uses.add(point);
  Counters& counters = engine_.counters();
  ++counters.copies_from_device;
  counters.bytes_from_device += bytes;
  counters.waited(from.uses.limit());
  if (engine_.options().asynchronous && !program_) return {};
  auto ready = wait_until_ready(host_place);
  if (program_) program_->end_overwrite();
  return ready;
}

/// Waits for a copy; if it has failed, the content is not that of the newest version.
Status Block::wait_until_ready(int place) {
  Place& there = at(place);
  auto ready = wait_for(there.ready);
  there.ready = nullptr;
  if (ready) return {};
  there.stale.add(whole());
  return failed(place, ready.error());
}

/// Blocks until it has been reached; the time counts.
device::Status Block::wait_for(const Point& point) {
  if (!point) return {};
  const platform::Stopwatch waiting;
  auto reached = point->synchronize();
  engine_.counters().waited(waiting.seconds());
  return reached;
}

}  // namespace blastoff::blocks
