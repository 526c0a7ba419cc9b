#include "blocks/block.h"

#include <fmt/format.h>

#include "blocks/engine.h"

namespace blastoff::blocks {

namespace {

using platform::Span;

std::string name_of(int place) {
  return place == host_place ? "the host" : fmt::format("device {}", place);
}

}  // namespace

Block::Block(Engine& engine, std::size_t bytes, std::unique_ptr<ProgramMemory> memory)
    : engine_(engine),
      bytes_(bytes),
      program_(std::move(memory)),
      places_(static_cast<std::size_t>(engine.devices() + 1)) {
  for (Place& place : places_) place.stale.add(whole());
  if (!program_) return;
  home().address = program_->bytes().begin;
  home().stale.clear();
  defined_ = true;
}

Block::~Block() {
  const std::lock_guard lock(mutex_);  // of one who evicts it
  drop_stored();
  for (int place = host_place; place < engine_.devices(); ++place) drop(place);
}

bool Block::usable(int place) {
  return place == host_place || !engine_.site(place).lost();
}

bool Block::current(int place) {
  return defined_ && at(place).stale.empty() && usable(place);
}

/// Whether the newest version is anywhere but there.
bool Block::current_elsewhere(int not_at) {
  for (int place = host_place; place < engine_.devices(); ++place)
    if (place != not_at && current(place)) return true;
  return stored_.has_value();
}

/// A device that copies directly first: its link is at least as fast as that to the host. Then the host, through which
/// all others copy.
std::optional<int> Block::source(int not_at) {
  for (int place = 0; not_at != host_place && place < engine_.devices(); ++place)
    if (place != not_at && current(place) && is_direct(not_at, place)) return place;
  for (int place = host_place; place < engine_.devices(); ++place)
    if (place != not_at && current(place)) return place;
  return std::nullopt;
}

tl::unexpected<Error> Block::failed(int place, const device::Error& error) {
  if (place != host_place) engine_.site(place).note(error);
  return failure(error);
}

Result<std::uint64_t> Block::acquire(int place, Access access, device::Queue* queue) {
  const std::lock_guard lock(mutex_);
  ++engine_.counters().acquisitions;
  if (auto ok = check_holders(place, access); !ok) return tl::unexpected(ok.error());
  if (auto ok = notice_writes(access); !ok) return tl::unexpected(ok.error());
  if (reads(access) && !defined_)
    return failure(ErrorKind::nothing_there, "a block is read, but nothing has been written to it");
  const bool brings = reads(access) || !engine_.options().intents;
  const bool found = current(place);
  if (at(place).readers > 0 && !found)
    return failure(ErrorKind::conflict,
                   fmt::format("the program wrote its memory under a block that is read on {}", name_of(place)));
  if (auto ok = allocate(place); !ok) return tl::unexpected(ok.error());
  if (brings) {
    if (auto ok = bring(place); !ok) return tl::unexpected(ok.error());
  }
  if (auto ok = await(place, access, queue); !ok) return tl::unexpected(ok.error());
  if (found || !brings) ++engine_.counters().found_current;
  hold(place, access);
  return at(place).address;
}

Status Block::check_holders(int place, Access access) {
  if (!usable(place)) return failure(ErrorKind::device_lost, name_of(place) + " has failed");
  if (writer_)
    return failure(ErrorKind::conflict, fmt::format("the block is held for writing on {}", name_of(*writer_)));
  if (writes(access) && readers_ > 0)
    return failure(ErrorKind::conflict, fmt::format("the block is to be written on {}, but {} hold{} it for reading",
                                                    name_of(place), readers_, readers_ == 1 ? "s" : ""));
  return {};
}

/// What the program wrote in its own memory makes that version the newest. It may do so only where it is that already.
Status Block::notice_writes(Access access) {
  if (!program_) return {};
  const bool host_is_newest = home().stale.empty();
  if (host_is_newest || program_->exact()) {
    std::vector<Span> written;
    if (auto ok = program_->written(written); !ok) return ok;
    if (!host_is_newest) torn_ = torn_ || !written.empty();
    const std::uintptr_t begin = program_->bytes().begin;
    for (int place = 0; host_is_newest && place < engine_.devices(); ++place)
      for (const Span run : written) at(place).stale.add({run.begin - begin, run.end - begin});
  }
  if (access == Access::write) torn_ = false;  // it is all written anew
  if (!torn_) return {};
  return failure(ErrorKind::conflict,
                 "the program wrote its memory under a block while the newest version was on a device; "
                 "acquire it on the host before, or for writing to go on");
}

Status Block::allocate(int place) {
  Place& to = at(place);
  if (to.address != 0) {
    if (to.entry) engine_.site(place).touch(*to.entry);
    return {};
  }
  auto memory = place == host_place ? engine_.host_memory(bytes_) : engine_.device_memory(place, bytes_);
  if (!memory) return failed(place, memory.error());
  if (place != host_place) to.entry = engine_.site(place).enter(*this);
  to.memory = std::move(*memory);
  to.address = to.memory.address();
  std::swap(to.uses, to.memory.uses());
  return {};
}

/// Until the place can be used as `access` says, by later work of the queue or by the caller.
Status Block::await(int place, Access access, device::Queue* queue) {
  Place& there = at(place);
  Counters& counters = engine_.counters();
  // Nothing will tell when the program writes its memory next: copies from there have to be over.
  if (program_ && place != host_place) counters.waited(home().uses.finish());
  if (queue == nullptr) {
    if (auto ok = wait_until_ready(place); !ok) return ok;
    if (writes(access)) counters.waited(there.uses.finish());
    return {};
  }
  if (there.ready)
    if (auto ok = queue->wait(*there.ready); !ok) return failed(place, ok.error());
  if (!writes(access)) return {};
  auto ordered = there.uses.precede(*queue);
  return ordered ? Status{} : failed(place, ordered.error());
}

void Block::hold(int place, Access access) {
  if (writes(access)) {
    writer_ = place;
    defined_ = true;
  } else {
    ++at(place).readers;
    ++readers_;
  }
  // Without intents, a reader counts as a writer, but not for others who read.
  if (!writes(access) && (engine_.options().intents || readers_ > 1 || program_)) return;
  for (Place& other : places_)
    if (&other != &at(place)) other.stale.add(whole());
  at(place).stale.clear();
  drop_stored();
}

Status Block::release(int place, device::Queue* queue) {
  const std::lock_guard lock(mutex_);
  Place& there = at(place);
  const bool written = writer_ == place;
  if (!written && there.readers == 0)
    return failure(ErrorKind::not_held,
                   fmt::format("a block is released on {}, where nobody holds it", name_of(place)));
  Point point;
  if (queue != nullptr) {
    auto recorded = record(place, *queue);
    if (!recorded && recorded.error().kind != device::ErrorKind::lost) return failure(recorded.error());
    if (!recorded) {
      end_hold(place);
      if (written) there.stale.add(whole());
      return failed(place, recorded.error());
    }
    point = std::move(*recorded);
  }
  end_hold(place);
  if (written) {
    // The work waited for all that came before. (On the host there may be copies of parts that were forwarded.)
    if (queue != nullptr) there.uses.clear();
    there.ready = std::move(point);
    return {};
  }
  there.uses.add(std::move(point));
  engine_.counters().waited(there.uses.limit());
  return {};
}

/// What the queue has been given so far. Null where that has run.
device::Result<Point> Block::record(int place, device::Queue& queue) {
  auto point = engine_.site(place).points().record(queue);
  if (point || point.error().kind != device::ErrorKind::out_of_memory) return point;
  if (auto ended = queue.synchronize(); !ended) return tl::unexpected(ended.error());
  return Point();
}

void Block::end_hold(int place) {
  if (writer_ == place) {
    writer_.reset();
  } else {
    --at(place).readers;
    --readers_;
    if (place == host_place && at(place).readers == 0) parts_.clear();
  }
}

void Block::forget() {
  const std::lock_guard lock(mutex_);
  defined_ = false;
  drop_stored();
}

Status Block::prefetch(int place) {
  const std::lock_guard lock(mutex_);
  if (auto ok = check_holders(place, Access::read); !ok) return ok;
  if (auto ok = notice_writes(Access::read); !ok) return ok;
  if (at(place).readers > 0 || !defined_) return {};
  if (auto ok = allocate(place); !ok) return ok;
  return bring(place);
}

Status Block::evict(int place) {
  const std::lock_guard lock(mutex_);
  if (writer_ == place || at(place).readers > 0)
    return failure(ErrorKind::conflict, fmt::format("the block is held on {}", name_of(place)));
  if (at(place).address == 0 || (place == host_place && (program_ || (defined_ && !current_elsewhere(host_place)))))
    return {};
  return evict_claimed(place);
}

std::unique_lock<std::mutex> Block::try_claim(int place) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (lock && (writer_ == place || at(place).readers > 0)) lock.unlock();
  return lock.owns_lock() ? std::move(lock) : std::unique_lock<std::mutex>();
}

Status Block::evict_claimed(int place) {
  if (current(place) && !current_elsewhere(place)) {
    if (auto ok = allocate(host_place); !ok) return ok;
    if (auto ok = download(place, bytes_); !ok) return ok;
  }
  drop(place);
  if (place != host_place) {
    ++engine_.counters().evictions;
    engine_.counters().evicted_bytes += bytes_;
  }
  return {};
}

/// Gives the memory back to its pool, with what still uses it.
void Block::drop(int place) {
  Place& there = at(place);
  if (there.entry) engine_.site(place).leave(*there.entry);
  there.entry.reset();
  if (!there.memory) return;
  there.uses.add(std::move(there.ready));
  there.ready = nullptr;
  std::swap(there.uses, there.memory.uses());
  there.memory = {};
  there.uses.clear();
  there.address = 0;
  there.stale.add(whole());
}

bool Block::is_current(int place) {
  const std::lock_guard lock(mutex_);
  return current(place);
}

int Block::newest() {
  const std::lock_guard lock(mutex_);
  for (int place = 0; place < engine_.devices(); ++place)
    if (current(place)) return place;
  return host_place;
}

Status Block::finish() {
  const std::lock_guard lock(mutex_);
  if (writer_ || readers_ > 0) return failure(ErrorKind::conflict, "a block is ended while it is held");
  if (!program_) return {};
  // The program may free this memory, or write it.
  if (!home().stale.empty()) {
    if (auto ok = bring(host_place); !ok) return ok;
  }
  engine_.counters().waited(home().uses.finish());
  return {};
}

}  // namespace blastoff::blocks
