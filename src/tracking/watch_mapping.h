// Tracks whole mappings.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "platform/memory_map.h"
#include "platform/span.h"

namespace blastoff::tracking {

/// Tracks the mapping around `span` by `watch(Span)`, which returns expected<void, string>; if that fails, only the
/// span. Returns what is tracked. Only private anonymous memory can be tracked; otherwise the error says what the
/// memory is.
template <class Watch>
tl::expected<platform::Span, std::string> watch_mapping(platform::Span span, Watch&& watch) {
  const platform::Mapping mapping = platform::find_mapping(span);
  if (mapping.kind != platform::MemoryKind::anonymous) return tl::unexpected(std::string(describe(mapping.kind)));
  // Watching a part of a mapping would split it in two, and the program may want to move or resize it in one call.
  // Other threads may map other memory there before the watch begins, without an event, so check the mapping again.
  if (watch(mapping.extent) && platform::find_mapping(mapping.extent).kind == platform::MemoryKind::anonymous)
    return mapping.extent;
  if (auto part = watch(span); !part) return tl::unexpected(part.error());
  return span;
}

}  // namespace blastoff::tracking
