// Blocks in parts, for transfers.

#include <algorithm>

#include <fmt/format.h>

#include "blocks/block.h"
#include "blocks/engine.h"

namespace blastoff::blocks {

Result<std::uint64_t> Block::acquire_parts(std::size_t part_bytes) {
  {
    const std::lock_guard lock(mutex_);
    // What is written into the program's memory is noticed as soon as it is there, all at once.
    const bool in_parts = engine_.options().asynchronous && !program_ && part_bytes > 0 && part_bytes < bytes_;
    const bool free = !writer_ && home().readers == 0 && usable(host_place);
    const auto from = in_parts && free && defined_ && !current(host_place) ? source(host_place) : std::nullopt;
    if (from) {
      ++engine_.counters().acquisitions;
      if (auto ok = allocate(host_place); !ok) return tl::unexpected(ok.error());
      if (auto ok = download(*from, part_bytes); !ok) return tl::unexpected(ok.error());
      hold(host_place, Access::read);
      return home().address;
    }
  }
  return acquire(host_place, Access::read, nullptr);
}

Status Block::await_part(std::size_t end) {
  Part part;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(parts_.begin(), parts_.end(), [&](const Part& some) { return some.end >= end; });
    if (found == parts_.end()) return {};
    part = *found;
  }
  auto arrived = wait_for(part.arrived);
  if (arrived) return {};
  const std::lock_guard lock(mutex_);
  home().stale.add(whole());
  return failed(part.from, arrived.error());
}

Status Block::forward_part(int place, Span offsets) {
  const std::lock_guard lock(mutex_);
  if (writer_ != host_place)
    return failure(ErrorKind::not_held, "a block is forwarded that is not held for writing on the host");
  if (offsets.end > bytes_ || offsets.begin > offsets.end)
    return failure(ErrorKind::bad_argument, "bytes are forwarded that the block does not have");
  // What is written into the program's memory counts as written once more when the block is used.
  if (place == host_place || program_ || offsets.empty()) return {};
  if (!usable(place)) return failure(ErrorKind::device_lost, fmt::format("device {} has failed", place));
  if (auto ok = allocate(place); !ok) return ok;
  platform::IntervalSet part;
  part.add(offsets);
  if (auto queued = queue_upload(place, part); !queued) return queued;
  Place& to = at(place);
  to.stale.remove(offsets);
  if (to.stale.empty()) ++engine_.counters().copies_to_device;  // all of it makes one
  return engine_.options().asynchronous ? Status{} : wait_until_ready(place);
}

Status Block::abandon(int place) {
  const std::lock_guard lock(mutex_);
  if (writer_ != place) return failure(ErrorKind::not_held, "a block is abandoned that is not held there for writing");
  end_hold(place);
  at(place).ready = nullptr;
  defined_ = false;
  return {};
}

}  // namespace blastoff::blocks
