#include "tracking/watched_memory.h"

#include "platform/contained.h"
#include "tracking/watch_mapping.h"

namespace blastoff::tracking {

tl::expected<void, std::string> WatchedMemory::watch(Span span) {
  if (watched_.contains(span)) return {};
  const auto tracked = watch_mapping(
      span, [&](platform::MemoryKind kind) { return tracker_.tracks(kind); },
      [&](Span memory) { return tracker_.track(memory); });
  if (!tracked) return tl::unexpected(tracked.error());
  watched_.add(*tracked);
  return {};
}

bool WatchedMemory::drain(std::vector<MemoryEvent>& events) {
  const std::size_t first = events.size();
  if (!tracker_.events().drain(events)) {
    forget_all();
    return false;
  }
  for (std::size_t i = first; i < events.size(); ++i) {
    if (events[i].kind != MemoryEvent::Kind::dropped) watched_.remove(events[i].span);
    forget_protection(events[i].span);
  }
  return true;
}

void WatchedMemory::note_protected(Span span, std::span<const Span> written, std::vector<Span>& faulted) {
  const std::lock_guard lock(mutex_);
  for (const Span run : written) protected_.each_common(run, [&](Span common) { faulted.push_back(common); });
  protected_.add(span);
}

std::vector<Span> WatchedMemory::find_protected(Span span) {
  const std::lock_guard lock(mutex_);
  std::vector<Span> found;
  protected_.each_common(span, [&](Span common) { found.push_back(common); });
  return found;
}

// The kernel visits each page of a span, which takes milliseconds for a large matrix, so only protected spans are
// named.
void WatchedMemory::unprotect(Span span) {
  std::vector<Span> found;
  const bool listed = platform::contained([&] {
    const std::lock_guard lock(mutex_);
    protected_.each_common(span, [&](Span common) { found.push_back(common); });
    protected_.remove(span);
  });
  if (!listed) return tracker_.unprotect(span);
  for (const Span each : found) tracker_.unprotect(each);
}

/// Without memory for that, faults are counted that nobody took.
void WatchedMemory::forget_protection(Span span) {
  const std::lock_guard lock(mutex_);
  platform::contained([&] { protected_.remove(span); });
}

}  // namespace blastoff::tracking
