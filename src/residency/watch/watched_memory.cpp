#include "residency/watch/watched_memory.h"

#include "platform/memory_map.h"
#include "residency/mirror/page_bitmap.h"

namespace blastoff::residency::watch {

namespace {

using platform::Span;

// Whole chunks where the mapping allows it: fewer mappings are split, and huge pages stay whole.
Span widen(Span span, Span extent) {
  const std::uintptr_t mask = ~std::uintptr_t{mirror::chunk_bytes - 1};
  return {std::max(span.begin & mask, extent.begin), std::min((span.end + mirror::chunk_bytes - 1) & mask, extent.end)};
}

}  // namespace

tl::expected<void, std::string> WatchedMemory::watch(Span span) {
  if (watched_.contains(span)) return {};
  const platform::Mapping mapping = platform::find_mapping(span);
  if (mapping.kind != platform::MemoryKind::anonymous) return tl::unexpected(std::string(describe(mapping.kind)));
  const Span wide = widen(span, mapping.extent);
  if (auto tracked = tracker_.track(wide); !tracked) return tracked;
  watched_.add(wide);
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
