#include "platform/uffd_page_tracker.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "platform/kernel_interface.h"
#include "platform/mappings.h"
#include "platform/process.h"

namespace blastoff::platform {
namespace {

constexpr std::uint64_t wanted_features = kernel::uffd_feature_wp_async | kernel::uffd_feature_wp_unpopulated |
                                          UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
                                          UFFD_FEATURE_EVENT_REMOVE;

std::string cause(const char* what) {
  return std::string(what) + ": " + std::strerror(errno);
}

/// Programs count on small numbers for descriptors of their own; ours goes where nobody looks.
Descriptor out_of_the_way(Descriptor descriptor) {
  constexpr int high = 700;
  const int moved = fcntl(descriptor.get(), F_DUPFD_CLOEXEC, high);
  return moved < 0 ? std::move(descriptor) : Descriptor(moved);
}

tl::expected<Descriptor, std::string> open_userfaultfd() {
  const int flags = O_CLOEXEC | O_NONBLOCK | kernel::uffd_user_mode_only;
  Descriptor uffd(static_cast<int>(syscall(SYS_userfaultfd, flags)));
  if (!uffd) {
    const std::string reason = cause("userfaultfd");
    // A container that forbids the system call may still offer the device file.
    const Descriptor device(open("/dev/userfaultfd", O_RDWR | O_CLOEXEC));
    if (device) uffd = Descriptor(ioctl(device.get(), kernel::uffd_ioc_new, flags));
    if (!uffd) return tl::unexpected(reason + " (forbidden by this container or missing in this kernel)");
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = wanted_features;
  if (ioctl(uffd.get(), UFFDIO_API, &api) != 0) {
    return tl::unexpected("Linux " + kernel_release() + " has no asynchronous write tracking (6.7 or newer is needed)");
  }
  return out_of_the_way(std::move(uffd));
}

/// Registers the span; protection stays as it is where it is registered already.
bool register_span(int uffd, Span span) {
  uffdio_register request{};
  request.range = {span.begin, span.bytes()};
  request.mode = UFFDIO_REGISTER_MODE_WP;
  return ioctl(uffd, UFFDIO_REGISTER, &request) == 0;
}

bool unregister_span(int uffd, Span span) {
  uffdio_range range = {span.begin, span.bytes()};
  return ioctl(uffd, UFFDIO_UNREGISTER, &range) == 0;
}

/// Appends a run, joined to the last one where they touch.
void append_run(std::vector<Span>& runs, std::size_t first_own, Span run) {
  if (runs.size() > first_own && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

/// Whether every page of the span is mapped. MS_ASYNC looks at the mappings, one by one, and does nothing else.
bool fully_mapped(Span span) {
  return msync(reinterpret_cast<void*>(span.begin), span.bytes(), MS_ASYNC) == 0;
}

/// What moved may have grown on the way, and must not be split when its tracking ends.
Span whole_mapping(std::uintptr_t begin, std::size_t moved_bytes) {
  const Span moved = {begin, begin + moved_bytes};
  const auto mapping = Mappings().covering(begin);
  return mapping ? Span{begin, std::max(mapping->span.end, moved.end)} : moved;
}

}  // namespace

UffdPageTracker::UffdPageTracker(Descriptor uffd, Descriptor pagemap, std::unique_ptr<EventReader> reader)
    : uffd_(std::move(uffd)), pagemap_(std::move(pagemap)), reader_(std::move(reader)) {}

tl::expected<std::unique_ptr<PageTracker>, std::string> UffdPageTracker::open() {
  auto uffd = open_userfaultfd();
  if (!uffd) return tl::unexpected(uffd.error());
  Descriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  if (!pagemap) return tl::unexpected(cause("/proc/self/pagemap"));
  pagemap = out_of_the_way(std::move(pagemap));
  auto reader = EventReader::start(uffd->get());
  if (reader == nullptr) return tl::unexpected(std::string("cannot start the thread that watches memory"));
  std::unique_ptr<UffdPageTracker> tracker(
      new UffdPageTracker(std::move(*uffd), std::move(pagemap), std::move(reader)));
  if (auto works = tracker->try_out(); !works) return tl::unexpected(works.error());
  return tracker;
}

tl::expected<void, std::string> UffdPageTracker::try_out() {
  void* memory = mmap(nullptr, page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return tl::unexpected(cause("mmap"));
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  const Span page = {begin, begin + page_size()};
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
      result = tl::unexpected("the kernel's write tracking (PAGEMAP_SCAN) does not work on " + kernel_release());
    }
  }
  untrack(page);
  munmap(memory, page_size());
  return result;
}

tl::expected<void, std::string> UffdPageTracker::track(Span span) {
  if (span.empty()) return {};
  if (!register_span(uffd_.get(), span)) return tl::unexpected(cause("UFFDIO_REGISTER"));
  return {};
}

void UffdPageTracker::untrack(Span span) {
  if (span.empty() || unregister_span(uffd_.get(), span)) return;
  // All or nothing for the kernel: something else is mapped within the span by now. Take the pieces that are still
  // ours.
  Mappings mappings;
  for (std::uintptr_t at = span.begin; at < span.end;) {
    const auto mapping = mappings.covering(at);
    const std::uintptr_t end = mapping ? std::min(mapping->span.end, span.end) : at + page_size();
    if (mapping) unregister_span(uffd_.get(), {at, end});
    at = end;
  }
}

PageTracker::Scan UffdPageTracker::scan(Span span, bool protect, std::vector<Span>& written) {
  if (span.empty()) return Scan::ok;
  // The kernel passes over addresses where nothing is mapped. What is unmapped later than this check was unmapped while
  // we looked, and its event says so.
  if (!fully_mapped(span)) return Scan::not_tracked;

  const std::size_t before = written.size();
  std::array<kernel::PageRegion, 512> regions;
  kernel::PagemapScan request{};
  request.size = sizeof request;
  request.flags = kernel::scan_fail_unless_tracked | (protect ? kernel::scan_protect_matching : 0);
  request.vec = reinterpret_cast<std::uintptr_t>(regions.data());
  request.vec_len = regions.size();
  request.category_mask = kernel::page_is_written;
  request.return_mask = kernel::page_is_written;
  request.end = span.end;
  for (std::uintptr_t at = span.begin; at < span.end; at = request.walk_end) {
    request.start = at;
    const int found = ioctl(pagemap_.get(), kernel::pagemap_scan, &request);
    if (found < 0 && errno == EINTR) {
      request.walk_end = at;
      continue;
    }
    if (found < 0) {
      written.resize(before);
      return Scan::not_tracked;
    }
    for (int i = 0; i < found; ++i) append_run(written, before, {regions[i].start, regions[i].end});
  }
  return Scan::ok;
}

void UffdPageTracker::unprotect(Span span) {
  if (span.empty()) return;
  uffdio_writeprotect request{};
  request.range = {span.begin, span.bytes()};
  request.mode = 0;
  // EAGAIN: somebody unmaps memory right now, and the event reader is about to let them go on.
  while (ioctl(uffd_.get(), UFFDIO_WRITEPROTECT, &request) != 0 && errno == EAGAIN) sched_yield();
}

bool UffdPageTracker::drain(std::vector<MemoryEvent>& events) {
  const std::lock_guard lock(drain_mutex_);
  const bool settled = reader_->ring().settle();
  const std::size_t before = events.size();
  const bool complete = reader_->ring().take(events);
  for (std::size_t i = before; i < events.size(); ++i) {
    // Registration travels with moved memory. Nobody asked for it there.
    const MemoryEvent& event = events[i];
    if (event.kind == MemoryEvent::Kind::moved) untrack(whole_mapping(event.moved_to, event.span.bytes()));
  }
  return settled && complete;
}

bool UffdPageTracker::wait_for_events() {
  return reader_->wait_for_events();
}
void UffdPageTracker::stop_waiting() {
  reader_->stop_waiting();
}

tl::expected<std::unique_ptr<PageTracker>, std::string> open_page_tracker(TrackerKind kind) {
  if (kind == TrackerKind::soft_dirty) return tl::unexpected(std::string("no soft-dirty bits"));
  return UffdPageTracker::open();
}

}  // namespace blastoff::platform
