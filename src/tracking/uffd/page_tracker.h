// Page tracking by userfaultfd's asynchronous write protection and PAGEMAP_SCAN (Linux 6.7): the kernel lifts the
// protection of a page at its first write, with no handler involved, and tells later which pages those were.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tracking/page_tracker.h"
#include "tracking/soft_dirty/pagemap.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::tracking {

/// Not for children of fork: both descriptors go on speaking of the parent's memory there, and the child's is not
/// tracked.
class UffdPageTracker final : public PageTracker {
 public:
  static tl::expected<std::unique_ptr<PageTracker>, std::string> open();

  const char* name() const override { return "uffd"; }
  tl::expected<void, std::string> track(Span span) override { return events_->watch(span); }
  void untrack(Span span) override { events_->unwatch(span); }
  Scan scan(Span span, bool protect, std::vector<Span>& written) override;
  void unprotect(Span span) override;
  bool allows_pinning() const override { return true; }
  bool drain(std::vector<MemoryEvent>& events) override { return events_->drain(events); }
  bool wait_for_events() override { return events_->wait_for_events(); }
  void stop_waiting() override { events_->stop_waiting(); }

 private:
  UffdPageTracker(std::unique_ptr<UffdMemoryEvents> events, std::unique_ptr<PagemapFile> pagemap);
  tl::expected<void, std::string> try_out();

  std::unique_ptr<UffdMemoryEvents> events_;  ///< what is watched is what is tracked
  std::unique_ptr<PagemapFile> pagemap_;
};

}  // namespace blastoff::tracking
