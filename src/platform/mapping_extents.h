// The extents of the mappings, read without allocating memory. For a thread that must not allocate, since another
// thread inside malloc may be waiting for it.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

#include "platform/descriptor.h"
#include "platform/span.h"

namespace blastoff::platform {

/// Calls body(Span) for every mapping in /proc/self/maps, as far as it can be read.
template <class Body>
void each_mapping_extent(Body&& body) {
  const Descriptor maps(open("/proc/self/maps", O_RDONLY | O_CLOEXEC));
  char text[4096];
  Span span;
  int field = 0;  // 0: begin, 1: end, 2: the rest of the line
  for (ssize_t bytes; (bytes = read(maps.get(), text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < bytes; ++i) {
      const char c = text[i];
      if (c == '\n') {
        body(span);
        span = {};
        field = 0;
      } else if (field < 2 && (c == '-' || c == ' ')) {
        ++field;
      } else if (field < 2) {
        std::uintptr_t& number = field == 0 ? span.begin : span.end;
        number = number << 4 | static_cast<std::uintptr_t>(c <= '9' ? c - '0' : c - 'a' + 10);
      }
    }
  }
}

}  // namespace blastoff::platform
