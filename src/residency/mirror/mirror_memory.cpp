#include "residency/mirror/mirror_memory.h"

#include <algorithm>
#include <span>
#include <utility>

#include "platform/contained.h"
#include "platform/interval_set.h"
#include "platform/memory_limits.h"
#include "residency/mirror/unlocked.h"

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

// One backing is large enough that mapping a big matrix costs few driver calls, small enough that evicting it frees no
// more than was needed.
constexpr std::size_t largest_backing = std::size_t{256} << 20;

// What cuBLAS asks for to take its fastest kernels, with room to spare.
constexpr std::size_t device_alignment = 256;

}  // namespace

// No call is in flight, and nobody else knows of this any more.
MirrorMemory::~MirrorMemory() {
  running_.finish();
  for (auto* list : {&dead_, &leaving_, &backings_})
    for (auto next = list->begin(); next != list->end();) {
      Backing& backing = *next++;
      if (!give_up_pages(backing)) continue;
      device_.unback(backing.device, backing.bytes);
      remove(backing);
    }
  for (const auto& window : windows_) device_.release(window->device, window->host.bytes() + chunk_bytes);
}

Window* MirrorMemory::window_of(std::uintptr_t host) const {
  for (const auto& window : windows_)
    if (window->host.begin <= host && host < window->host.end) return window.get();
  return nullptr;
}

Chunk* MirrorMemory::find(std::uintptr_t host) const {
  const Window* window = window_of(host);
  return window ? window->chunk(window->chunk_of(host)) : nullptr;
}

device::Address MirrorMemory::device_address(std::uintptr_t host) const {
  const Window* window = window_of(host);
  return window->device + window->shift + (host - window->host.begin);
}

// A window is centred on the first address seen in it, so that what grows up or down from there falls into it too.
device::Result<Window*> MirrorMemory::window_for(Span span, std::uintptr_t aligned) {
  if (Window* window = window_of(span.begin)) {
    if (window->host.contains(span)) return window;
    return tl::unexpected(Error{ErrorKind::unsupported, "the matrix crosses the edge of a mirror window"});
  }
  const std::uintptr_t mask = ~std::uintptr_t{chunk_bytes - 1};
  const std::size_t largest = std::min(device_.properties().largest_reservation, platform::address_space_left() / 8);
  const std::uintptr_t half = (largest / 2 - chunk_bytes) & mask;
  const std::uintptr_t middle = span.begin & mask;
  Span host{middle > half ? middle - half : 0, middle + half};
  for (const auto& other : windows_) {
    if (!other->host.overlaps(host)) continue;
    if (other->host.end <= span.begin)
      host.begin = std::max(host.begin, other->host.end);
    else
      host.end = std::min(host.end, other->host.begin);
  }
  if (!host.contains(span))
    return tl::unexpected(Error{ErrorKind::unsupported, "the matrix does not fit a mirror window"});
  auto window = std::make_unique<Window>();
  window->host = host;
  window->shift = (device_alignment - aligned % device_alignment) % device_alignment;
  window->records.resize((host.bytes() / chunk_bytes + 1) / Records::size + 1);  // of granules, one more than chunks
  device::Result<device::Address> device = 0;
  {
    const Unlocked unlocked(owners_);
    device = device_.reserve(host.bytes() + chunk_bytes);
  }
  if (!device) return tl::unexpected(device.error());
  window->device = *device;
  const bool alone = std::ranges::none_of(windows_, [&](const auto& other) { return other->host.overlaps(host); });
  if (alone && platform::contained([&] { windows_.push_back(std::move(window)); })) return windows_.back().get();
  {
    const Unlocked unlocked(owners_);
    device_.release(*device, host.bytes() + chunk_bytes);
  }
  return alone ? tl::unexpected(device::no_host_memory()) : window_for(span, aligned);
}

device::Status MirrorMemory::place(Span span, std::uintptr_t aligned) {
  auto window = window_for(span, aligned);
  if (!window) return tl::unexpected(window.error());
  return {};
}

/// Makes the records of granules [first, last) and of the chunks that reach into them.
void MirrorMemory::make_records(Window& window, std::size_t first, std::size_t last) {
  for (std::size_t number = std::max<std::size_t>(first, 1) - 1; number < last; ++number) {
    auto& records = window.records[number / Records::size];
    if (!records) records = std::make_unique<Records>();
    const std::uintptr_t begin = window.host.begin + number * chunk_bytes;
    ledger::Copy*& copy = records->chunks[number % Records::size].copy;
    if (!copy && begin < window.host.end) copy = &place_.open(begin, device_address(begin));
  }
}

/// Whether anything is to be remembered. The last chunk may reach into the first granule of the next records.
bool MirrorMemory::in_use(const Window& window, std::size_t records) {
  const std::size_t next = (records + 1) * Records::size;
  return std::ranges::any_of(window.records[records]->granules,
                             [](const Granule& each) { return each.backing || each.uses.latest > 0; }) ||
         (records + 1 < window.records.size() && window.backing(next));
}

/// What is known of pages that have no memory in granules [first, last) any more.
void MirrorMemory::drop_records(Window& window, std::size_t first, std::size_t last) {
  first = std::max<std::size_t>(first, 1) - 1;  // the chunk that reaches into the first one
  for (std::size_t records = first / Records::size; records * Records::size < last; ++records) {
    if (!window.records[records]) continue;
    const std::size_t begin = records * Records::size;
    for (std::size_t number = std::max(first, begin); number < std::min(last, begin + Records::size); ++number)
      if (Chunk* const chunk = window.chunk(number); chunk && !window.backing(number) && !window.backing(number + 1)) {
        *chunk = {};
        place_.close(window.host.begin + number * chunk_bytes);
      }
    if (!in_use(window, records)) window.records[records].reset();
  }
}

/// No memory is behind its addresses.
void MirrorMemory::remove(Backing& backing) {
  Window& window = *backing.window;
  const std::size_t first = (backing.device - window.device) / chunk_bytes;
  const std::size_t last = first + backing.bytes / chunk_bytes;
  const Uses uses = backing.dead || backing.shrunk ? Uses{} : backing.uses;
  for (std::size_t number = first; number < last; ++number) *window.granule(number) = {nullptr, uses};
  if (!backing.leaves) bytes_ -= backing.bytes;
  (backing.leaves ? leaving_ : backing.dead ? dead_ : backings_).erase(backing.place);
  drop_records(window, first, last);
}

/// Whether this holds of a granule under the pages.
template <class Predicate>
bool MirrorMemory::any_granule(Span pages, Predicate&& predicate) const {
  const Window* window = window_of(pages.begin);
  if (!window || !window->host.contains(pages)) return false;
  const std::size_t last = window->granule_of(pages.end - 1);
  for (std::size_t granule = window->granule_of(pages.begin); granule <= last; ++granule)
    if (const Granule* const known = window->granule(granule); known && predicate(*known)) return true;
  return false;
}

bool MirrorMemory::any_backed(Span pages) const {
  return any_granule(pages, [](const Granule& granule) { return granule.backing != nullptr; });
}

bool MirrorMemory::evicted(Span pages) const {
  return any_granule(pages, [](const Granule& granule) { return !granule.backing && granule.uses.latest > 0; });
}

bool MirrorMemory::within_budget(const std::vector<Span>& runs) const {
  platform::IntervalSet needed;
  for (const Span run : runs) needed.add(run);
  std::size_t bytes = 0;
  needed.all_of([&](Span span) {
    bytes += span.bytes();
    return true;
  });
  return bytes <= device_.accountant().limit_of(device::MemoryClient::mirrors);
}

/// Adds a backing that is held, and not made yet.
void MirrorMemory::add_backing(Window& window, std::size_t first, std::size_t last, std::vector<Backing*>& held) {
  std::list<Backing> added(1);
  held.reserve(held.size() + 1);
  make_records(window, first, last);
  Backing& backing = added.back();
  const std::size_t bytes = (last - first) * chunk_bytes;
  const std::uintptr_t begin = window.host.begin + first * chunk_bytes;
  backing.host = {first == 0 ? begin : begin - window.shift, begin + bytes - window.shift};
  backing.window = &window;
  backing.device = window.device + first * chunk_bytes;
  backing.bytes = bytes;
  backing.uses = window.granule(first)->uses;
  backing.holds = 1;
  backing.place = added.begin();
  backings_.splice(backings_.end(), added);
  bytes_ += bytes;
  for (std::size_t number = first; number < last; ++number) window.granule(number)->backing = &backing;
  held.push_back(&backing);
}

/// The device may be full with what others have: then gives back what nobody uses and tries again.
device::Status MirrorMemory::map(Backing& backing, Lent& lent) {
  for (;;) {
    device::Status mapped;
    {
      const Unlocked unlocked(owners_);
      mapped = device_.back(device::MemoryClient::mirrors, backing.device, backing.bytes);
    }
    backing.made = mapped.has_value();
    if (mapped || mapped.error().kind != ErrorKind::out_of_memory) return mapped;
    if (leaving_.empty() && !evict_least_expected(lent)) return mapped;
    unmap_evicted(lent);
    wait_for_other_threads();
  }
}

device::Result<std::vector<Backing*>> MirrorMemory::back(const std::vector<Span>& runs, std::uintptr_t aligned) {
  std::vector<Backing*> held;
  device::Status backed = tl::unexpected(device::no_host_memory());
  platform::contained([&] { backed = back(runs, aligned, held); });
  if (backed) return held;
  const auto missing = std::partition(held.begin(), held.end(), [](const Backing* each) { return each->made; });
  for (Backing* const backing : std::span(missing, held.end())) remove(*backing);
  held.erase(missing, held.end());
  let_go(held);
  return tl::unexpected(std::move(backed.error()));
}

device::Status MirrorMemory::back(const std::vector<Span>& runs, std::uintptr_t aligned, std::vector<Backing*>& held) {
  const auto hold_once = [&](Backing& backing) {
    if (!backing.made || (!held.empty() && held.back() == &backing)) return;
    held.push_back(&backing);
    hold(backing);
  };
  if (!within_budget(runs))
    return tl::unexpected(Error{ErrorKind::out_of_memory, "the operands exceed the budget for matrices"});
  // First everything that is there is held, so that making room for the rest cannot evict it.
  for (const Span run : runs) each_backing(run, hold_once);
  for (const Span run : runs) {
    auto found = window_for(run, aligned);
    if (!found) return tl::unexpected(found.error());
    Window& window = **found;
    const std::size_t end = window.granule_of(run.end - 1) + 1;
    for (std::size_t first = window.granule_of(run.begin); first < end;) {
      if (Backing* const there = window.backing(first)) {
        hold_once(*there);
        ++first;
        continue;
      }
      std::size_t last = first + 1;
      while (last < end && !window.backing(last) && (last - first) * chunk_bytes < largest_backing) ++last;
      add_backing(window, first, last, held);
      first = last;
    }
  }
  // Before any is mapped or unmapped, so that calls that do so at the same time do not each get a part of what they
  // need.
  Lent lent;
  while (bytes_ > device_.accountant().limit_of(device::MemoryClient::mirrors)) {
    if (!evict_least_expected(lent))
      return tl::unexpected(Error{ErrorKind::out_of_memory, "the operands do not fit beside others in use"});
    if (bytes_ <= device_.accountant().limit_of(device::MemoryClient::mirrors)) unmap_evicted(lent);
  }
  for (Backing* const backing : held)
    if (!backing->made)
      if (auto mapped = map(*backing, lent); !mapped) return mapped;
  return {};
}

void MirrorMemory::hold(Backing& backing) {
  ++backing.holds;
  if (!backing.dead) return;
  backing.dead.reset();
  dead_bytes_ -= backing.bytes;
  backings_.splice(backings_.end(), dead_, backing.place);
}

void MirrorMemory::unhold(const std::vector<Backing*>& backings) {
  ++calls_;
  for (Backing* backing : backings) {
    use(backing->uses);
    backings_.splice(backings_.end(), backings_, backing->place);
  }
  let_go(backings);
}

void MirrorMemory::let_go(const std::vector<Backing*>& backings) {
  for (Backing* backing : backings) {
    --backing->holds;
    if (backing->shrunk) bury_if_dead(*backing);
  }
}

}  // namespace blastoff::residency::mirror
