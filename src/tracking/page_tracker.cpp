#include "tracking/page_tracker.h"

#include "platform/failure.h"
#include "platform/valgrind.h"
#include "tracking/soft_dirty/page_tracker.h"
#include "tracking/uffd/page_tracker.h"

namespace blastoff::tracking {

tl::expected<std::unique_ptr<PageTracker>, std::string> open_page_tracker(TrackerKind kind) {
  // A thread in munmap() waits for the thread that reads events, which does not run meanwhile. Besides, memcheck would
  // complain of every page of which a matrix fills a part.
  if (platform::under_valgrind())
    return tl::unexpected(std::string("writes cannot be tracked under Valgrind, which runs one thread at a time"));
  if (kind == TrackerKind::uffd) return UffdPageTracker::open();
  if (kind == TrackerKind::soft_dirty) return SoftDirtyPageTracker::open();
  auto uffd = UffdPageTracker::open();
  if (uffd) return uffd;
  auto soft_dirty = SoftDirtyPageTracker::open();
  if (soft_dirty) return soft_dirty;
  return tl::unexpected(platform::both_reasons(uffd.error(), soft_dirty.error()));
}

}  // namespace blastoff::tracking
