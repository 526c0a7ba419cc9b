// Device memory that makes room for other, or whose host memory has gone: which, and its way out.
#include <algorithm>
#include <utility>

#include "residency/mirror/mirror_memory.h"
#include "residency/mirror/unlocked.h"

namespace blastoff::residency::mirror {

using platform::Span;

/// Nothing of it is current any more. False: some of it may be, and is lent to another device.
bool MirrorMemory::give_up_pages(const Backing& backing) {
  bool lent = false;
  change(platform::outward_to_pages(backing.host), [&](ledger::Copy& copy, std::size_t first, std::size_t last) {
    lent = lent || copy.lent > 0;
    if (lent) return;
    copy.current.clear(first, last);
    copy.steady.clear(first, last);
  });
  return !lent;
}

/// From here on no call takes it, and its bytes are free for others. The driver unmaps it in unmap_evicted().
void MirrorMemory::evict(Backing& backing) {
  backing.made = false;
  backing.leaves = true;
  bytes_ -= backing.bytes;
  if (backing.dead) dead_bytes_ -= backing.bytes;
  leaving_.splice(leaving_.end(), backing.dead ? dead_ : backings_, backing.place);
}

/// It is in use by another device, and remains.
void MirrorMemory::stay(Backing& backing) {
  backing.made = true;
  backing.leaves = false;
  backing.taken = false;
  bytes_ += backing.bytes;
  if (backing.dead) dead_bytes_ += backing.bytes;
  auto& list = backing.dead ? dead_ : backings_;
  list.splice(list.begin(), leaving_, backing.place);
  if (backing.shrunk) bury_if_dead(backing);
}

// No call can leave a result in it meanwhile, since none can hold it.
/// What it alone has goes home first. False: it is in use by another device.
bool MirrorMemory::unmap(Backing& backing) {
  backing.taken = true;
  {
    const Unlocked unlocked(owners_);
    place_.bring_home(platform::outward_to_pages(backing.host));
    running_.finish();
  }
  const bool given_up = give_up_pages(backing);
  if (given_up) {
    const Unlocked unlocked(owners_);
    device_.unback(backing.device, backing.bytes);
  }
  if (given_up)
    remove(backing);
  else
    stay(backing);
  changed_.notify_all();
  return given_up;
}

/// Adds those that remain to `lent`.
void MirrorMemory::unmap_evicted(Lent& lent) {
  for (;;) {
    const auto next = std::ranges::find(leaving_, false, &Backing::taken);
    if (next == leaving_.end()) return;
    lent.push_back(&*next);
    if (unmap(*next)) lent.pop_back();
  }
}

bool MirrorMemory::unmap_evicted() {
  for (bool any = false;; any = true) {
    const auto next = std::ranges::find(leaving_, false, &Backing::taken);
    if (next == leaving_.end()) return any;
    unmap(*next);
  }
}

bool MirrorMemory::holds_nothing(const Backing& backing) const {
  Span pages = platform::outward_to_pages(backing.host);
  if (backing.bytes > 2 * chunk_bytes) pages = {pages.begin + chunk_bytes, pages.end - chunk_bytes};
  bool any = false;
  each_chunk(pages, [&](const Chunk& chunk, std::size_t first, std::size_t last) {
    any = any || chunk.copy->current.any(first, last);
  });
  return !any;
}

void MirrorMemory::bury_if_dead(Backing& backing) {
  backing.shrunk = backing.holds > 0 || backing.leaves;
  if (backing.shrunk || backing.dead || !holds_nothing(backing)) return;
  backing.dead.emplace();
  dead_bytes_ += backing.bytes;
  dead_.splice(dead_.end(), backings_, backing.place);
}

void MirrorMemory::forget_granules(Window& window, std::size_t first, std::size_t last) {
  const Backing* judged = nullptr;
  for (std::size_t number = first; number < last; ++number) {
    Granule* const granule = window.granule(number);
    if (!granule) {
      number |= Records::size - 1;  // nothing is known of the others, too
      continue;
    }
    granule->uses = {};
    if (granule->backing && granule->backing != std::exchange(judged, granule->backing))
      bury_if_dead(*granule->backing);
  }
  drop_records(window, first, last);
}

void MirrorMemory::forget(Span span) {
  place_.take(span);
  for (const auto& window : windows_) {
    const Span part{std::max(span.begin, window->host.begin), std::min(span.end, window->host.end)};
    if (!part.empty()) forget_granules(*window, window->granule_of(part.begin), window->granule_of(part.end - 1) + 1);
  }
  constexpr std::size_t dead_share = 64;
  const std::size_t max_dead = device_.accountant().limit_of(device::MemoryClient::mirrors) / dead_share;
  while (dead_bytes_ > max_dead) evict(dead_.front());
}

bool MirrorMemory::release_dead(double seconds) {
  if (dead_.empty() || dead_.front().dead->seconds() < seconds) return false;
  Backing& longest = dead_.front();
  evict(longest);
  return unmap(longest);
}

void MirrorMemory::release_idle() {
  for (auto* list : {&dead_, &backings_})
    for (auto next = list->begin(); next != list->end();) {
      Backing& backing = *next++;
      if (backing.holds == 0) evict(backing);
    }
  unmap_evicted();
}

// Two uses tell nothing if nothing is evicted between them: the memory would have been there in any order. A use by the
// very next call tells nothing either: a neighbour shares a piece of memory. If the memory is used again much later
// than before, the program does something else now.
void MirrorMemory::use(Uses& uses) const {
  const std::uint32_t passed = calls_ - uses.latest;
  if (uses.latest > 0 && uses.evictions != evictions_ && passed > 1)
    uses.interval = uses.interval == 0 || passed <= 2 * uses.interval ? passed : 0;
  uses.latest = calls_;
  uses.evictions = evictions_;
}

// What is not used when it was expected, or was not used twice, is expected in as many calls as have passed.
std::uint32_t MirrorMemory::expected_in(const Uses& uses) const {
  const std::uint32_t passed = calls_ - uses.latest;
  return passed < uses.interval ? uses.interval - passed : passed;
}

/// Evicts what is expected to be used latest, of what no call in flight uses. False: there is nothing but what is lent.
bool MirrorMemory::evict_least_expected(const Lent& lent) {
  const auto is_lent = [&](const Backing& backing) { return std::ranges::find(lent, &backing) != lent.end(); };
  for (Backing& backing : dead_) {
    if (is_lent(backing)) continue;
    evict(backing);
    return true;
  }
  Backing* least = nullptr;
  for (Backing& backing : backings_) {
    if (backing.holds > 0 || is_lent(backing)) continue;
    if (!least || expected_in(backing.uses) > expected_in(least->uses)) least = &backing;
  }
  if (!least) return false;
  evict(*least);
  ++evictions_;
  return true;
}

/// Until they have unmapped what they have taken.
void MirrorMemory::wait_for_other_threads() {
  std::unique_lock lock(owners_, std::adopt_lock);
  changed_.wait(lock, [&] { return std::ranges::find(leaving_, true, &Backing::taken) == leaving_.end(); });
  lock.release();
}

}  // namespace blastoff::residency::mirror
