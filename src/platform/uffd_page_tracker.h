// Page tracking by userfaultfd's asynchronous write protection and PAGEMAP_SCAN (Linux 6.7): the kernel lifts the
// protection of a page at its first write, with no handler involved, and tells later which pages those were.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "platform/descriptor.h"
#include "platform/event_reader.h"
#include "platform/page_tracker.h"

namespace blastoff::platform {

/// Not for children of fork: both descriptors go on speaking of the parent's memory there, and the child's is not
/// tracked.
class UffdPageTracker : public PageTracker {
 public:
  static tl::expected<std::unique_ptr<PageTracker>, std::string> open();

  const char* name() const override { return "uffd"; }
  tl::expected<void, std::string> track(Span span) override;
  void untrack(Span span) override;
  Scan scan(Span span, bool protect, std::vector<Span>& written) override;
  void unprotect(Span span) override;
  bool drain(std::vector<MemoryEvent>& events) override;
  bool wait_for_events() override;
  void stop_waiting() override;

 private:
  UffdPageTracker(Descriptor uffd, Descriptor pagemap, std::unique_ptr<EventReader> reader);
  tl::expected<void, std::string> try_out();

  Descriptor uffd_;
  Descriptor pagemap_;
  std::unique_ptr<EventReader> reader_;  ///< destroyed first: it reads uffd_
  std::mutex drain_mutex_;               ///< among drainers; the event reader knows nothing of it
};

}  // namespace blastoff::platform
