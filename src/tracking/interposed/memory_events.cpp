#include "tracking/interposed/memory_events.h"

#include <dlfcn.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <mutex>
#include <string_view>

#include "../include/blastoff_allocator.h"
#include "platform/errno_guard.h"
#include "tracking/interposed/ring.h"

namespace blastoff::tracking {

/// What one listener receives into. Never destroyed, since a producer may be using it at any time; the next listener
/// reuses it.
struct InterposedMemoryEvents::Channel {
  /// Memory is marked as watched in granules of 2 MiB. This filters out most of what a program frees, which is no
  /// matrix.
  static constexpr std::size_t granule_bits = 21;
  static constexpr std::size_t granules = 1 << 16;

  std::atomic<bool> taken{false};
  std::atomic<bool> open{false};
  InterposedRing ring;
  std::array<std::atomic<bool>, granules> watched{};
  std::atomic<std::uint32_t> arrivals{0};  ///< incremented when the ring may have received an event
  std::atomic<bool> released{false};       ///< stop_waiting() was called
  std::mutex drain_mutex;                  ///< one drain at a time

  void watch(Span span) {
    for (auto granule = span.begin >> granule_bits; granule <= (span.end - 1) >> granule_bits; ++granule)
      watched[granule % granules].store(true, std::memory_order_relaxed);
  }
  bool may_be_watched(Span span) const {
    const auto first = span.begin >> granule_bits;
    const auto last = (span.end - 1) >> granule_bits;
    if (last - first >= granules) return true;
    for (auto granule = first; granule <= last; ++granule)
      if (watched[granule % granules].load(std::memory_order_relaxed)) return true;
    return false;
  }
  void announce() {
    arrivals.fetch_add(1, std::memory_order_release);
    arrivals.notify_all();
  }
  void begin() {
    std::vector<MemoryEvent> of_the_last_listener;
    ring.take(of_the_last_listener);
    for (auto& granule : watched) granule.store(false, std::memory_order_relaxed);
    released = false;
    open = true;
  }
};

namespace {

using Channel = InterposedMemoryEvents::Channel;

constexpr std::size_t max_channels = 4;
std::array<std::atomic<Channel*>, max_channels> channels{};
std::atomic<int> listeners{0};

Channel* take_channel() {
  for (auto& place : channels) {
    Channel* channel = place.load(std::memory_order_acquire);
    if (channel == nullptr) {
      auto fresh = std::make_unique<Channel>();
      if (place.compare_exchange_strong(channel, fresh.get(), std::memory_order_acq_rel)) channel = fresh.release();
    }
    if (!channel->taken.exchange(true, std::memory_order_acq_rel)) return channel;
  }
  return nullptr;
}

void tell(Channel& channel, const MemoryEvent& event) {
  if (!channel.open.load(std::memory_order_acquire) || !channel.may_be_watched(event.span)) return;
  channel.ring.put(event);
  channel.announce();
}

void tell_everyone(const MemoryEvent& event) {
  for (auto& place : channels)
    if (Channel* channel = place.load(std::memory_order_acquire); channel != nullptr) tell(*channel, event);
}

}  // namespace

void note_interposed_event(const MemoryEvent& event) {
  if (listeners.load(std::memory_order_relaxed) == 0 || event.span.empty()) return;
  const platform::ErrnoGuard errno_stays;
  tell_everyone({event.kind, platform::outward_to_pages(event.span), event.moved_to});
  // The C library may have unmapped watched memory at the new addresses without reporting it.
  const Span target = {event.moved_to, event.moved_to + event.span.bytes()};
  if (event.kind == MemoryEvent::Kind::moved)
    tell_everyone({MemoryEvent::Kind::unmapped, platform::outward_to_pages(target)});
}

tl::expected<void, std::string> allocator_belongs_here() {
  const auto version =
      reinterpret_cast<decltype(&blastoff_allocator_version)>(dlsym(RTLD_DEFAULT, "blastoff_allocator_version"));
  if (version == nullptr)
    return tl::unexpected(std::string("the allocator library, which reports it too, is not loaded"));
  const std::string_view known = version();
  if (known == BLASTOFF_VERSION) return {};
  return tl::unexpected("the allocator library is of version " + std::string(known) + " instead of " BLASTOFF_VERSION);
}

tl::expected<std::unique_ptr<InterposedMemoryEvents>, std::string> InterposedMemoryEvents::open() {
  if (auto belongs = allocator_belongs_here(); !belongs) return tl::unexpected(belongs.error());
  Channel* channel = take_channel();
  if (channel == nullptr) return tl::unexpected(std::string("the allocator library has too many listeners"));
  channel->begin();
  listeners.fetch_add(1, std::memory_order_seq_cst);
  return std::unique_ptr<InterposedMemoryEvents>(new InterposedMemoryEvents(*channel));
}

InterposedMemoryEvents::~InterposedMemoryEvents() {
  listeners.fetch_sub(1, std::memory_order_seq_cst);
  channel_.open = false;
  stop_waiting();
  channel_.taken.store(false, std::memory_order_release);
}

tl::expected<void, std::string> InterposedMemoryEvents::watch(Span span) {
  if (!span.empty()) channel_.watch(span);
  return {};
}

bool InterposedMemoryEvents::drain(std::vector<MemoryEvent>& events) {
  if (!channel_.ring.waiting()) return true;
  const std::lock_guard lock(channel_.drain_mutex);
  return channel_.ring.take(events);
}

bool InterposedMemoryEvents::wait_for_events() {
  for (;;) {
    const std::uint32_t seen = channel_.arrivals.load(std::memory_order_acquire);
    if (channel_.released.load(std::memory_order_acquire)) return false;
    if (channel_.ring.waiting()) return true;
    channel_.arrivals.wait(seen, std::memory_order_acquire);
  }
}

void InterposedMemoryEvents::stop_waiting() {
  channel_.released.store(true, std::memory_order_release);
  channel_.announce();
}

}  // namespace blastoff::tracking
