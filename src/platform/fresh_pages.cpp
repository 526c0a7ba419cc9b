#include "platform/fresh_pages.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "platform/errno_guard.h"
#include "platform/kernel_interface.h"

namespace blastoff::platform {

bool has_pages(Span span) {
  constexpr std::size_t looks = 16;
  const ErrnoGuard keep_errno;
  const std::size_t step = std::max(span.bytes() / looks / page_size(), std::size_t{1}) * page_size();
  for (std::uintptr_t at = span.begin; at < span.end; at += step) {
    unsigned char resident = 1;
    if (mincore(reinterpret_cast<void*>(at), page_size(), &resident) == 0 && (resident & 1) == 0) return false;
  }
  return true;
}

void give_pages(Span span) {
  madvise(reinterpret_cast<void*>(span.begin), span.bytes(), kernel::madv_populate_write);
}

}  // namespace blastoff::platform
