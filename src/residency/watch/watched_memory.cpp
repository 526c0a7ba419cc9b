#include "residency/watch/watched_memory.h"

#include "platform/contained.h"
#include "residency/watch/watch_mapping.h"

namespace blastoff::residency::watch {

using platform::Span;

tl::expected<void, std::string> WatchedMemory::watch(Span span) {
  if (watched_.contains(span)) return {};
  const auto tracked = watch_mapping(span, [&](Span memory) { return tracker_.track(memory); });
  if (!tracked) return tl::unexpected(tracked.error());
  watched_.add(*tracked);
  return {};
}

bool WatchedMemory::drain(std::vector<tracking::MemoryEvent>& events) {
  const std::size_t first = events.size();
  if (!tracker_.events().drain(events)) {
    forget_all();
    return false;
  }
  for (std::size_t i = first; i < events.size(); ++i) {
    if (events[i].kind != tracking::MemoryEvent::Kind::dropped) watched_.remove(events[i].span);
    forget_protection(events[i].span);
  }
  return true;
}

bool WatchedMemory::protect(Span span, std::vector<Span>& written, std::vector<Span>& faulted) {
  const std::size_t first = written.size();
  if (!scan(span, true, written)) return false;
  const std::lock_guard lock(mutex_);
  for (std::size_t i = first; i < written.size(); ++i)
    protected_.each_common(written[i], [&](Span common) { faulted.push_back(common); });
  protected_.add(span);
  return true;
}

void WatchedMemory::unprotect(Span span) {
  tracker_.unprotect(span);
  forget_protection(span);
}

/// Without memory for that, faults are counted that nobody took.
void WatchedMemory::forget_protection(Span span) {
  const std::lock_guard lock(mutex_);
  platform::contained([&] { protected_.remove(span); });
}

}  // namespace blastoff::residency::watch
