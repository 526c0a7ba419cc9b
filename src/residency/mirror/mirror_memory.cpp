#include "residency/mirror/mirror_memory.h"

#include <algorithm>

#include "platform/interval_set.h"
#include "platform/memory_limits.h"

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

MirrorMemory::~MirrorMemory() {
  while (!backings_.empty()) evict(backings_.begin());
  for (const auto& window : windows_) device_.release(window->device, window->host.bytes() + chunk_bytes);
}

std::uint16_t* MirrorMemory::writers(Chunk& chunk) {
  if (!chunk.writers) chunk.writers = writers_.emplace_back(new std::uint16_t[max_pages_per_chunk]()).get();
  return chunk.writers;
}

UsedBytes& MirrorMemory::used(Chunk& chunk) {
  if (!chunk.used) chunk.used = used_.emplace_back(new UsedBytes()).get();
  return *chunk.used;
}

Window* MirrorMemory::window_of(std::uintptr_t host) const {
  for (const auto& window : windows_)
    if (window->host.begin <= host && host < window->host.end) return window.get();
  return nullptr;
}

Chunk* MirrorMemory::find(std::uintptr_t host) const {
  const Window* window = window_of(host);
  return window ? &window->chunk_of(host) : nullptr;
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
  const std::size_t chunks = host.bytes() / chunk_bytes;
  window->chunks.reset(static_cast<Chunk*>(std::calloc(chunks, sizeof(Chunk))));
  window->backings.reset(static_cast<Backing**>(std::calloc(chunks + 1, sizeof(Backing*))));
  window->uses.reset(static_cast<Uses*>(std::calloc(chunks + 1, sizeof(Uses))));
  if (!window->chunks || !window->backings || !window->uses)
    return tl::unexpected(Error{ErrorKind::unsupported, "no host memory for the page states"});
  auto device = device_.reserve(host.bytes() + chunk_bytes);
  if (!device) return tl::unexpected(device.error());
  window->device = *device;
  windows_.push_back(std::move(window));
  return windows_.back().get();
}

device::Status MirrorMemory::place(Span span, std::uintptr_t aligned) {
  auto window = window_for(span, aligned);
  if (!window) return tl::unexpected(window.error());
  return {};
}

void MirrorMemory::evict(std::list<Backing>::iterator backing) {
  const std::size_t first = (backing->device - backing->window->device) / chunk_bytes;
  std::fill_n(backing->window->backings.get() + first, backing->bytes / chunk_bytes, nullptr);
  std::fill_n(backing->window->uses.get() + first, backing->bytes / chunk_bytes, backing->uses);
  invalidate(platform::outward_to_pages(backing->host));
  device_.unback(backing->device, backing->bytes);
  backings_.erase(backing);
}

/// Whether this holds of a granule under the pages.
template <class Predicate>
bool MirrorMemory::any_granule(Span pages, Predicate&& predicate) const {
  const Window* window = window_of(pages.begin);
  if (!window || !window->host.contains(pages)) return false;
  const std::size_t last = window->granule_of(pages.end - 1);
  for (std::size_t granule = window->granule_of(pages.begin); granule <= last; ++granule)
    if (predicate(window->backings.get()[granule], window->uses.get()[granule])) return true;
  return false;
}

bool MirrorMemory::any_backed(Span pages) const {
  return any_granule(pages, [](const Backing* backing, const Uses&) { return backing != nullptr; });
}

bool MirrorMemory::evicted(Span pages) const {
  return any_granule(pages, [](const Backing* backing, const Uses& uses) { return !backing && uses.latest > 0; });
}

void MirrorMemory::release_idle() {
  for (auto next = backings_.begin(); next != backings_.end();) {
    const auto backing = next++;
    if (backing->holds == 0) evict(backing);
  }
}

// Uses that nothing is evicted between tell nothing: the memory would have been there in any order. Nor does the use by
// the very next call: a neighbour shares a piece of memory. If it is used again much later than before, the program
// does something else now.
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

/// Of those that no call in flight uses; the end if there is none.
std::list<Backing>::iterator MirrorMemory::least_expected() {
  auto least = backings_.end();
  for (auto backing = backings_.begin(); backing != backings_.end(); ++backing) {
    if (backing->holds > 0) continue;
    if (least == backings_.end() || expected_in(backing->uses) > expected_in(least->uses)) least = backing;
  }
  return least;
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

device::Status MirrorMemory::back_granules(Window& window, std::size_t first, std::size_t last) {
  const std::size_t bytes = (last - first) * chunk_bytes;
  const device::Address device = window.device + first * chunk_bytes;
  const auto try_backing = [&] { return device_.back(device::MemoryClient::mirrors, device, bytes); };
  auto backed = try_backing();
  // The budget may be spent, or the device full with what others have: give back what nobody uses and try again.
  while (!backed && backed.error().kind == ErrorKind::out_of_memory) {
    const auto idle = least_expected();
    if (idle == backings_.end()) return backed;
    evict(idle);
    ++evictions_;
    backed = try_backing();
  }
  if (!backed) return backed;
  Backing& backing = backings_.emplace_back();
  const std::uintptr_t begin = window.host.begin + first * chunk_bytes;
  backing.host = {first == 0 ? begin : begin - window.shift, begin + bytes - window.shift};
  backing.window = &window;
  backing.device = device;
  backing.bytes = bytes;
  backing.uses = window.uses.get()[first];
  backing.place = std::prev(backings_.end());
  std::fill(window.backings.get() + first, window.backings.get() + last, &backing);
  return {};
}

device::Result<std::vector<Backing*>> MirrorMemory::back(const std::vector<Span>& runs, std::uintptr_t aligned) {
  std::vector<Backing*> held;
  const auto hold = [&](Backing& backing) {
    if (!held.empty() && held.back() == &backing) return;
    ++backing.holds;
    held.push_back(&backing);
  };
  const auto fail = [&](const Error& error) {
    unhold(held);
    return tl::unexpected(error);
  };
  if (!within_budget(runs)) return fail({ErrorKind::out_of_memory, "the operands exceed the budget for matrices"});
  // First everything that is there is held, so that making room for the rest cannot evict it.
  for (const Span run : runs) each_backing(run, hold);
  for (const Span run : runs) {
    auto found = window_for(run, aligned);
    if (!found) return fail(found.error());
    Window& window = **found;
    const std::size_t end = window.granule_of(run.end - 1) + 1;
    Backing** backings = window.backings.get();
    for (std::size_t first = window.granule_of(run.begin); first < end;) {
      if (backings[first]) {
        hold(*backings[first++]);
        continue;
      }
      std::size_t last = first + 1;
      while (last < end && !backings[last] && (last - first) * chunk_bytes < largest_backing) ++last;
      if (auto backed = back_granules(window, first, last); !backed) return fail(backed.error());
      hold(backings_.back());
      first = last;
    }
  }
  return held;
}

void MirrorMemory::unhold(const std::vector<Backing*>& backings) {
  ++calls_;
  for (Backing* backing : backings) {
    --backing->holds;
    use(backing->uses);
    backings_.splice(backings_.end(), backings_, backing->place);
  }
}

}  // namespace blastoff::residency::mirror
