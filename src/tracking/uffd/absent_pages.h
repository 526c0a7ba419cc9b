// Absent pages by userfaultfd's missing mode, beside asynchronous write protection (Linux 6.7).
#pragma once

#include <atomic>
#include <mutex>

#include "platform/interval_set.h"
#include "platform/pagemap.h"
#include "tracking/absent_pages.h"
#include "tracking/uffd/memory_events.h"

namespace blastoff::tracking {

using platform::PagemapFile;
using platform::Span;

/// A span that has been given up stays registered for missing pages, and apart from its neighbours, until it is
/// unmapped or dropped.
class UffdAbsentPages final : public AbsentPages {
 public:
  UffdAbsentPages(UffdMemoryEvents& events, PagemapFile& pagemap);

  tl::expected<void, std::string> give_up(Span span, bool& partly) override;
  tl::expected<Taken, std::string> take(Span span, const std::vector<Span>& present) override;
  void put_back(const Taken& taken, const std::vector<Span>& runs) override;
  Filled fill(Span span, const void* contents) override;
  bool wait(std::vector<std::uintptr_t>& addresses) override;
  void stop_waiting() override { events_.reader().stop_waiting_for_faults(); }
  void filled_by(Filler* filler) override { filler_ = filler; }
  void before_fork() override;

  /// The parts of the span in which pages may be absent, ascending.
  std::vector<Span> registered_within(Span span);
  /// Tracks what of the span is not registered for missing pages.
  tl::expected<void, std::string> watch_others(Span span);
  /// The span is not tracked any more.
  void forget(Span span);

 private:
  void hear(std::vector<MemoryEvent>& events, std::size_t index);
  tl::expected<void, std::string> prepare(Span span);
  int move_away(Span span, platform::OwnedMapping& to, Span& moved);
  void put_back_within(const Taken& taken, const std::vector<Span>& runs, Span within);
  void fork_with(Span span, std::uintptr_t now_at);

  UffdMemoryEvents& events_;
  PagemapFile& pagemap_;
  std::atomic<Filler*> filler_ = nullptr;
  std::mutex mutex_;
  platform::IntervalSet registered_;  ///< for missing pages
  platform::IntervalSet not_forked_;  ///< a child of fork that calls no handler is not to take them for zeros
};

}  // namespace blastoff::tracking
