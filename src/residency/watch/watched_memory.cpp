#include "residency/watch/watched_memory.h"

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
    watched_.clear();
    return false;
  }
  for (std::size_t i = first; i < events.size(); ++i)
    if (events[i].kind != tracking::MemoryEvent::Kind::dropped) watched_.remove(events[i].span);
  return true;
}

}  // namespace blastoff::residency::watch
