#include "residency/watch/watched_memory.h"

#include "platform/memory_map.h"

namespace blastoff::residency::watch {

using platform::Span;

tl::expected<void, std::string> WatchedMemory::watch(Span span) {
  if (watched_.contains(span)) return {};
  const platform::Mapping mapping = platform::find_mapping(span);
  if (mapping.kind != platform::MemoryKind::anonymous) return tl::unexpected(std::string(describe(mapping.kind)));
  // Whole mappings: tracking a part splits a mapping in two, and the program may want to move or resize it in one call.
  // Other threads map other things meanwhile, which is an event only from when it is tracked: so look again.
  const bool whole =
      tracker_.track(mapping.extent) && platform::find_mapping(mapping.extent).kind == platform::MemoryKind::anonymous;
  const Span tracked = whole ? mapping.extent : span;
  if (!whole)
    if (auto part = tracker_.track(span); !part) return part;
  watched_.add(tracked);
  return {};
}

bool WatchedMemory::drain(std::vector<platform::MemoryEvent>& events) {
  const std::size_t first = events.size();
  if (!tracker_.drain(events)) {
    watched_.clear();
    return false;
  }
  for (std::size_t i = first; i < events.size(); ++i)
    if (events[i].kind != platform::MemoryEvent::Kind::dropped) watched_.remove(events[i].span);
  return true;
}

}  // namespace blastoff::residency::watch
