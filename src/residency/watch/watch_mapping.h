// Tracks memory by whole mappings.
#pragma once

#include <string>

#include <tl/expected.hpp>

#include "platform/memory_map.h"
#include "platform/span.h"

namespace blastoff::residency::watch {

/// Starts to track the mapping around `span` by `watch(Span)`, which returns expected<void, string>; if that fails, the
/// span alone. Returns what is tracked then. Only private anonymous memory can be tracked: the error says what it is
/// instead.
template <class Watch>
tl::expected<platform::Span, std::string> watch_mapping(platform::Span span, Watch&& watch) {
  const platform::Mapping mapping = platform::find_mapping(span);
  if (mapping.kind != platform::MemoryKind::anonymous) return tl::unexpected(std::string(describe(mapping.kind)));
  // Whole mappings: watching a part splits a mapping in two, and the program may want to move or resize it in one call.
  // Other threads map other things meanwhile, which is an event only from when it is watched: so look again.
  if (watch(mapping.extent) && platform::find_mapping(mapping.extent).kind == platform::MemoryKind::anonymous)
    return mapping.extent;
  if (auto part = watch(span); !part) return tl::unexpected(part.error());
  return span;
}

}  // namespace blastoff::residency::watch
