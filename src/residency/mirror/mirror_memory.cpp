#include "residency/mirror/mirror_memory.h"

#include <algorithm>

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
  if (!window->chunks || !window->backings)
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
  invalidate(platform::outward_to_pages(backing->host));
  device_.unback(backing->device, backing->bytes);
  backings_.erase(backing);
}

void MirrorMemory::release_idle() {
  for (auto next = backings_.begin(); next != backings_.end();) {
    const auto backing = next++;
    if (backing->holds == 0) evict(backing);
  }
}

device::Status MirrorMemory::back_granules(Window& window, std::size_t first, std::size_t last) {
  const std::size_t bytes = (last - first) * chunk_bytes;
  const device::Address device = window.device + first * chunk_bytes;
  const auto try_backing = [&] { return device_.back(device::MemoryClient::mirrors, device, bytes); };
  auto backed = try_backing();
  // The budget may be spent, or the device full with what others have: give back what nobody uses and try again.
  while (!backed && backed.error().kind == ErrorKind::out_of_memory) {
    const auto idle = std::find_if(backings_.begin(), backings_.end(), [](const Backing& b) { return b.holds == 0; });
    if (idle == backings_.end()) return backed;
    evict(idle);
    backed = try_backing();
  }
  if (!backed) return backed;
  Backing& backing = backings_.emplace_back();
  const std::uintptr_t begin = window.host.begin + first * chunk_bytes;
  backing.host = {first == 0 ? begin : begin - window.shift, begin + bytes - window.shift};
  backing.window = &window;
  backing.device = device;
  backing.bytes = bytes;
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
  for (Backing* backing : backings) {
    --backing->holds;
    backings_.splice(backings_.end(), backings_, backing->place);
  }
}

}  // namespace blastoff::residency::mirror
