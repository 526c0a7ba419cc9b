// Host memory whose writes are tracked: what can be tracked, what is tracked, and what was freed.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/interval_set.h"
#include "platform/span.h"
#include "tracking/page_tracker.h"

namespace blastoff::tracking {

/// Not thread-safe, except where said.
class WatchedMemory {
 public:
  explicit WatchedMemory(PageTracker& tracker) : tracker_(tracker) {}

  /// Tracks writes to the span. The error says why that is not possible ("shared memory", ...).
  tl::expected<void, std::string> watch(Span span);

  /// A scan has protected the span and found these pages written. Appends to `faulted` those that were protected
  /// before: the CPU has taken a page fault for each. Thread-safe.
  void note_protected(Span span, std::span<const Span> written, std::vector<Span>& faulted);

  /// The pages that note_protected() was told of. Thread-safe.
  std::vector<Span> find_protected(Span span);

  /// Prepares pages that Blastoff or the program is about to overwrite, so that writing to them costs no page faults.
  /// Concerns the pages that note_protected() was told of. Thread-safe.
  void unprotect(Span span);

  /// A scan has found the memory replaced: watch it again.
  void forget(Span span) {
    watched_.remove(span);
    forget_protection(span);
  }
  void forget_all() {
    watched_.clear();
    forget_protection({0, UINTPTR_MAX});
  }

  /// Appends the events of tracked memory up to now, and forgets freed memory. False: events were lost; everything is
  /// forgotten.
  bool drain(std::vector<MemoryEvent>& events);

 private:
  void forget_protection(Span span);

  PageTracker& tracker_;
  platform::IntervalSet watched_;
  std::mutex mutex_;
  platform::IntervalSet protected_;  ///< as far as note_protected() was told
};

}  // namespace blastoff::tracking
