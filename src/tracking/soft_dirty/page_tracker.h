// Page tracking by soft-dirty bits, for kernels without userfaultfd's asynchronous write protection. A clear clears the
// bits of all pages of the process, so what the bits of the other tracked pages said is kept here.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "tracking/memory_events.h"
#include "tracking/page_tracker.h"
#include "tracking/soft_dirty/bits.h"
#include "tracking/soft_dirty/pages.h"

namespace blastoff::tracking {

/// May report pages that were not written: whole huge pages, all pages of a new or grown mapping, pages locked for a
/// device, and everything after a clear during which other threads took page faults.
class SoftDirtyPageTracker final : public PageTracker, private EventSource {
 public:
  static tl::expected<std::unique_ptr<PageTracker>, std::string> open();

  const char* name() const override { return "soft-dirty"; }
  tl::expected<void, std::string> track(Span span) override;
  void untrack(Span span) override;
  Scan scan(Span span, bool protect, std::vector<Span>& written) override;
  void unprotect(Span span) override;
  bool allows_pinning() const override { return allows_pinning_; }
  EventSource& events() override { return *this; }

 private:
  // Events pass through the tracker, which must know of them before anybody else acts on them.
  bool drain(std::vector<MemoryEvent>& events) override;
  bool wait_for_events() override { return events_->wait_for_events(); }
  void stop_waiting() override { events_->stop_waiting(); }

  /// What a look at some pages found, apart from the pages that it marked as pending.
  struct Look {
    bool answered = true;
    bool anonymous = true;    ///< no page belongs to a file or to shared memory
    bool soft_dirty = false;  ///< a page that a clear would protect
  };

  SoftDirtyPageTracker(std::unique_ptr<SoftDirtyBits> bits, std::unique_ptr<MemoryEvents> events);
  void look(SoftDirtyPages::Chunk& chunk, std::uintptr_t address, std::size_t first, std::size_t last, Look& found);
  void note(SoftDirtyPages::Chunk& chunk, std::size_t first, std::size_t last, const PagemapEntry* entries,
            Look& found) const;
  Look look(Span span);
  void warm_up();
  void notice_foreign_clear();
  bool clear();
  bool clear_once();
  void hear();

  std::mutex mutex_;
  std::unique_ptr<SoftDirtyBits> bits_;
  std::unique_ptr<MemoryEvents> events_;
  bool allows_pinning_;
  SoftDirtyPages pages_;
  std::vector<MemoryEvent> heard_;  ///< for the next drain()
  bool events_lost_ = false;
  std::array<PagemapEntry, SoftDirtyPages::chunk_pages> entries_;
};

}  // namespace blastoff::tracking
