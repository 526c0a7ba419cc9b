// Tracks whole mappings.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "platform/memory_map.h"
#include "platform/span.h"

namespace blastoff::tracking {

/// Tracks the mapping around `span` by `watch(Span)`, which returns expected<void, string>; if that fails, only the
/// span. Returns what is tracked. Only memory of which `can_be_watched(MemoryKind)` is true is tracked; otherwise the
/// error says what the memory is.
template <class Kinds, class Watch>
tl::expected<platform::Span, std::string> watch_mapping(platform::Span span, Kinds&& can_be_watched, Watch&& watch) {
  const platform::Mapping mapping = platform::find_mapping(span);
  if (!can_be_watched(mapping.kind)) return tl::unexpected(std::string(describe(mapping.kind)));
  // Watching a part of a mapping would split it in two, and the program may want to move or resize it in one call.
  // Other threads may map other memory there before the watch begins, without an event, so check the mapping again.
  if (watch(mapping.extent) && can_be_watched(platform::find_mapping(mapping.extent).kind)) return mapping.extent;
  if (auto part = watch(span); !part) return tl::unexpected(part.error());
  return span;
}

}  // namespace blastoff::tracking
