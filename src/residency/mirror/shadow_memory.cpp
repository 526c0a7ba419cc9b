#include "residency/mirror/shadow_memory.h"

#include <algorithm>

#include <fmt/format.h>

namespace blastoff::residency::mirror {

namespace {

using device::Error;
using device::ErrorKind;
using platform::Span;

// One backing is large enough that mapping a big matrix costs few driver calls, small enough that evicting it frees no
// more than was needed.
constexpr std::size_t largest_backing = std::size_t{256} << 20;

Span outward_to_chunks(Span span) {
  const std::uintptr_t mask = ~std::uintptr_t{chunk_bytes - 1};
  return {span.begin & mask, (span.end + chunk_bytes - 1) & mask};
}

}  // namespace

ShadowMemory::~ShadowMemory() {
  while (!backings_.empty()) evict(backings_.begin());
  for (const auto& window : windows_) device_.release(window->device, window->host.bytes());
}

std::uint16_t* ShadowMemory::writers(Chunk& chunk) {
  if (!chunk.writers) chunk.writers = writers_.emplace_back(new std::uint16_t[max_pages_per_chunk]()).get();
  return chunk.writers;
}

ShadowMemory::Window* ShadowMemory::window_of(std::uintptr_t host) const {
  for (const auto& window : windows_)
    if (window->host.begin <= host && host < window->host.end) return window.get();
  return nullptr;
}

Chunk* ShadowMemory::find(std::uintptr_t host) const {
  const Window* window = window_of(host);
  return window ? &window->chunk_of(host) : nullptr;
}

device::Address ShadowMemory::device_address(std::uintptr_t host) const {
  const Window* window = window_of(host);
  return window->device + (host - window->host.begin);
}

// A window is centred on the first address seen in it, so that what grows up or down from there falls into it too.
device::Result<ShadowMemory::Window*> ShadowMemory::window_for(Span span) {
  if (Window* window = window_of(span.begin)) {
    if (window->host.contains(span)) return window;
    return tl::unexpected(Error{ErrorKind::unsupported, "the matrix crosses the edge of a mirror window"});
  }
  const std::uintptr_t half = device_.properties().largest_reservation / 2 & ~std::uintptr_t{chunk_bytes - 1};
  Span host{span.begin > half ? span.begin - half : 0, span.begin + half};
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
  window->chunks.reset(static_cast<Chunk*>(std::calloc(host.bytes() / chunk_bytes, sizeof(Chunk))));
  if (!window->chunks) return tl::unexpected(Error{ErrorKind::unsupported, "no host memory for the page states"});
  auto device = device_.reserve(host.bytes());
  if (!device) return tl::unexpected(device.error());
  window->device = *device;
  windows_.push_back(std::move(window));
  return windows_.back().get();
}

void ShadowMemory::evict(std::list<Backing>::iterator backing) {
  each_chunk(backing->host, [](Chunk& chunk, std::size_t first, std::size_t last) {
    chunk.backing = nullptr;
    chunk.current.clear(first, last);
  });
  device_.unback(backing->device, backing->host.bytes());
  backed_ -= backing->host.bytes();
  backings_.erase(backing);
}

device::Status ShadowMemory::make_room(std::size_t bytes) {
  auto candidate = backings_.begin();
  while (backed_ + bytes > budget_ && candidate != backings_.end()) {
    const auto next = std::next(candidate);
    if (candidate->holds == 0) evict(candidate);
    candidate = next;
  }
  if (backed_ + bytes > budget_)
    return tl::unexpected(
        Error{ErrorKind::out_of_memory, fmt::format("operands need {} MiB beside {} MiB in use, the budget is {} MiB",
                                                    bytes >> 20, backed_ >> 20, budget_ >> 20)});
  return {};
}

device::Status ShadowMemory::back_run(Window& window, Span run) {
  if (auto room = make_room(run.bytes()); !room) return room;
  const device::Address device = window.device + (run.begin - window.host.begin);
  auto backed = device_.back(device, run.bytes());
  // The budget is ours, the memory is shared with others: give back what nobody uses and try again.
  while (!backed && backed.error().kind == ErrorKind::out_of_memory) {
    const auto idle = std::find_if(backings_.begin(), backings_.end(), [](const Backing& b) { return b.holds == 0; });
    if (idle == backings_.end()) return backed;
    evict(idle);
    backed = device_.back(device, run.bytes());
  }
  if (!backed) return backed;
  backed_ += run.bytes();
  Backing& backing = backings_.emplace_back();
  backing.host = run;
  backing.device = device;
  backing.place = std::prev(backings_.end());
  for (std::uintptr_t at = run.begin; at < run.end; at += chunk_bytes) window.chunk_of(at).backing = &backing;
  return {};
}

device::Result<std::vector<Backing*>> ShadowMemory::back(const std::vector<Span>& runs) {
  std::vector<Backing*> held;
  const auto hold = [&](Backing* backing) {
    if (!held.empty() && held.back() == backing) return;
    ++backing->holds;
    held.push_back(backing);
  };
  const auto fail = [&](const Error& error) {
    unhold(held);
    return tl::unexpected(error);
  };
  // First everything that is there is held, so that making room for the rest cannot evict it.
  std::vector<Span> missing;
  for (const Span run : runs) {
    const Span chunks = outward_to_chunks(run);
    for (std::uintptr_t at = chunks.begin; at < chunks.end; at += chunk_bytes) {
      const Chunk* chunk = find(at);
      if (chunk && chunk->backing) {
        hold(chunk->backing);
      } else if (!missing.empty() && missing.back().end == at) {
        missing.back().end += chunk_bytes;
      } else if (missing.empty() || !missing.back().contains({at, at + chunk_bytes})) {
        missing.push_back({at, at + chunk_bytes});
      }
    }
  }
  for (const Span run : missing) {
    auto window = window_for(run);
    if (!window) return fail(window.error());
    for (std::uintptr_t at = run.begin; at < run.end; at += largest_backing) {
      const Span piece{at, std::min<std::uintptr_t>(run.end, at + largest_backing)};
      // Two operands may miss the same chunks: the first of them has backed them by now.
      for (std::uintptr_t from = piece.begin; from < piece.end;) {
        Chunk* chunk = find(from);
        if (chunk && chunk->backing) {
          hold(chunk->backing);
          from += chunk_bytes;
          continue;
        }
        std::uintptr_t to = from + chunk_bytes;
        while (to < piece.end && !(find(to) && find(to)->backing)) to += chunk_bytes;
        if (auto backed = back_run(**window, {from, to}); !backed) return fail(backed.error());
        hold(&backings_.back());
        from = to;
      }
    }
  }
  return held;
}

void ShadowMemory::unhold(const std::vector<Backing*>& backings) {
  for (Backing* backing : backings) {
    --backing->holds;
    backings_.splice(backings_.end(), backings_, backing->place);
  }
}

}  // namespace blastoff::residency::mirror
