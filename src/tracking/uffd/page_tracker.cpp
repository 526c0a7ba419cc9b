#include "tracking/uffd/page_tracker.h"

#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/kernel_interface.h"
#include "platform/mappings.h"
#include "platform/process.h"
#include "tracking/uffd/written_pages.h"

namespace blastoff::tracking {
namespace {

constexpr UffdMemoryEvents::Features asynchronous_protection = {
    platform::kernel::uffd_feature_wp_async | platform::kernel::uffd_feature_wp_unpopulated,
    "asynchronous write tracking (6.7 or newer is needed)"};

std::string cause(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

}  // namespace

UffdPageTracker::UffdPageTracker(std::unique_ptr<UffdMemoryEvents> events, std::unique_ptr<PagemapFile> pagemap)
    : events_(std::move(events)), pagemap_(std::move(pagemap)), absent_(*events_, *pagemap_) {}

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
    if (!written_pages(*pagemap_, ahead, protect, false, before, written) ||
        !written_pages(*pagemap_, given_up, protect, true, before, written))
      return Scan::not_tracked;
    span.begin = given_up.end;
  }
  return written_pages(*pagemap_, span, protect, false, before, written) ? Scan::ok : Scan::not_tracked;
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
