#include "platform/span.h"

#include <unistd.h>

namespace blastoff::platform {

std::size_t page_size() {
  static const std::size_t size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

Span outward_to_pages(Span span) {
  const std::uintptr_t mask = page_size() - 1;
  return {span.begin & ~mask, (span.end + mask) & ~mask};
}

Span inward_to_pages(Span span) {
  const std::uintptr_t mask = page_size() - 1;
  const Span inner = {(span.begin + mask) & ~mask, span.end & ~mask};
  return inner.empty() ? Span{inner.begin, inner.begin} : inner;
}

}  // namespace blastoff::platform
