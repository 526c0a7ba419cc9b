// Page tracking by userfaultfd's asynchronous write protection and PAGEMAP_SCAN (Linux 6.7). The kernel removes a
// page's protection at its first write, without calling a handler, and reports later which pages those were.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "platform/pagemap.h"
#include "tracking/page_tracker.h"
#include "tracking/uffd/absent_pages.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::tracking {

using platform::PagemapFile;

/// Not for children of fork: both descriptors still refer to the parent's memory there, and the child's memory is not
/// tracked.
class UffdPageTracker final : public PageTracker {
 public:
  static tl::expected<std::unique_ptr<PageTracker>, std::string> open();

  const char* name() const override { return "uffd"; }
  tl::expected<void, std::string> track(Span span) override { return absent_.watch_others(span); }
  bool tracks(platform::MemoryKind kind) const override {
    return platform::is_private_data(kind);  // the protection is asynchronous, which any memory allows
  }
  void untrack(Span span) override {
    absent_.forget(span);
    events_->unwatch(span);
  }
  Scan scan(Span span, bool protect, std::vector<Span>& written) override;
  void unprotect(Span span) override;
  bool allows_pinning() const override { return true; }
  bool faults_once_a_page() const override { return true; }
  AbsentPages* absent_pages() override {
    return events_->serves_kernel() && events_->reader().lasts() ? &absent_ : nullptr;
  }
  EventSource& events() override { return *events_; }

 private:
  UffdPageTracker(std::unique_ptr<UffdMemoryEvents> events, std::unique_ptr<PagemapFile> pagemap);
  tl::expected<void, std::string> try_out();

  std::unique_ptr<UffdMemoryEvents> events_;  ///< watches exactly the tracked spans
  std::unique_ptr<PagemapFile> pagemap_;
  UffdAbsentPages absent_;
};

}  // namespace blastoff::tracking
