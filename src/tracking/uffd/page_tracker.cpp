#include "tracking/uffd/page_tracker.h"

#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/kernel_interface.h"
#include "platform/mappings.h"
#include "platform/process.h"

namespace blastoff::tracking {
namespace {

constexpr UffdMemoryEvents::Features asynchronous_protection = {
    platform::kernel::uffd_feature_wp_async | platform::kernel::uffd_feature_wp_unpopulated,
    "asynchronous write tracking (6.7 or newer is needed)"};

std::string cause(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

/// Appends a run, or extends the last one if they touch. Runs before `first_own` stay as they are.
void append_run(std::vector<Span>& runs, std::size_t first_own, Span run) {
  if (runs.size() > first_own && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

}  // namespace

UffdPageTracker::UffdPageTracker(std::unique_ptr<UffdMemoryEvents> events, std::unique_ptr<PagemapFile> pagemap)
    : events_(std::move(events)), pagemap_(std::move(pagemap)), absent_(*events_) {}

tl::expected<std::unique_ptr<PageTracker>, std::string> UffdPageTracker::open() {
  auto events = UffdMemoryEvents::open(asynchronous_protection);
  if (!events) return tl::unexpected(events.error());
  auto pagemap = PagemapFile::open();
  if (!pagemap) return tl::unexpected(pagemap.error());
  std::unique_ptr<UffdPageTracker> tracker(new UffdPageTracker(std::move(*events), std::move(*pagemap)));
  if (auto works = tracker->try_out(); !works) return tl::unexpected(works.error());
  return tracker;
}

tl::expected<void, std::string> UffdPageTracker::try_out() {
  void* memory = mmap(nullptr, platform::page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return tl::unexpected(cause("mmap"));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const Span page = {begin, begin + platform::page_size()};
  auto* word = static_cast<volatile int*>(memory);
  *word = 1;

  std::vector<Span> written;
  const auto pages_written = [&](bool protect) {
    written.clear();
    return scan(page, protect, written) == Scan::ok ? static_cast<int>(written.size()) : -1;
  };
  auto result = track(page);
  if (result) {
    const bool protected_first = pages_written(true) == 1 && pages_written(false) == 0;
    *word = 2;
    if (!protected_first || pages_written(false) != 1) {
      result =
          tl::unexpected("the kernel's write tracking (PAGEMAP_SCAN) does not work on " + platform::kernel_release());
    }
  }
  untrack(page);
  munmap(memory, platform::page_size());
  return result;
}

PageTracker::Scan UffdPageTracker::scan(Span span, bool protect, std::vector<Span>& written) {
  if (span.empty()) return Scan::ok;
  // The scan skips addresses where nothing is mapped. If memory is unmapped after this check, its event reports that.
  if (!platform::fully_mapped(span)) return Scan::not_tracked;

  const std::size_t before = written.size();
  for (const Span given_up : absent_.registered_within(span)) {
    const Span ahead{span.begin, given_up.begin};
    if (!scan(ahead, protect, false, before, written) || !scan(given_up, protect, true, before, written))
      return Scan::not_tracked;
    span.begin = given_up.end;
  }
  return scan(span, protect, false, before, written) ? Scan::ok : Scan::not_tracked;
}

/// Appends to the runs from `first_own` on. An absent page counts as written, unless it is among pages that were given
/// up. False: the span is not tracked, and the own runs have gone.
bool UffdPageTracker::scan(Span span, bool protect, bool given_up, std::size_t first_own, std::vector<Span>& written) {
  const int pagemap = pagemap_->get();
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
    const int found = ioctl(pagemap, platform::kernel::pagemap_scan, &request);
    if (found < 0 && errno == EINTR) {
      request.walk_end = at;
      continue;
    }
    if (found < 0) {
      written.resize(first_own);
      return false;
    }
    for (int i = 0; i < found; ++i) append_run(written, first_own, {regions[i].start, regions[i].end});
  }
  return true;
}

void UffdPageTracker::unprotect(Span span) {
  if (span.empty()) return;
  uffdio_writeprotect request{};
  request.range = {span.begin, span.bytes()};
  request.mode = 0;
  // EAGAIN: another thread is unmapping memory and waits for the event reader, which will release it soon.
  while (events_->control(UFFDIO_WRITEPROTECT, &request) == EAGAIN) sched_yield();
}

}  // namespace blastoff::tracking
