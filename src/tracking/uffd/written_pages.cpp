#include "tracking/uffd/written_pages.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

#include "platform/kernel_interface.h"

namespace blastoff::tracking {
namespace {

/// Appends a run, or extends the last one if they touch. Runs before `first_own` stay as they are.
void append_run(std::vector<Span>& runs, std::size_t first_own, Span run) {
  if (runs.size() > first_own && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

bool written_pages(PagemapFile& file, Span span, bool protect, bool given_up, std::size_t first_own,
                   std::vector<Span>& written) {
  const int pagemap = file.get();
  std::array<platform::kernel::PageRegion, 512> regions;
  platform::kernel::PagemapScan request{};
  request.size = sizeof request;
  request.flags = platform::kernel::scan_fail_unless_tracked | (protect ? platform::kernel::scan_protect_matching : 0);
  request.vec = reinterpret_cast<std::uintptr_t>(regions.data());
  request.vec_len = regions.size();
  request.category_mask = platform::kernel::page_is_written;
  if (given_up) request.category_anyof_mask = platform::kernel::page_is_present | platform::kernel::page_is_swapped;
  request.return_mask = platform::kernel::page_is_written;
  request.end = span.end;
  for (std::uintptr_t at = span.begin; at < span.end; at = request.walk_end) {
    request.start = at;
    // Not ioctl(), which we wrap for the program.
    const long found = syscall(SYS_ioctl, pagemap, platform::kernel::pagemap_scan, &request);
    if (found < 0 && errno == EINTR) {
      request.walk_end = at;
      continue;
    }
    if (found < 0) {
      written.resize(first_own);
      return false;
    }
    for (long i = 0; i < found; ++i) append_run(written, first_own, {regions[i].start, regions[i].end});
  }
  return true;
}

}  // namespace blastoff::tracking
