// Host memory whose writes are tracked: what can be tracked, what is tracked, and what was freed.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/interval_set.h"
#include "platform/span.h"
#include "tracking/page_tracker.h"

namespace blastoff::residency::watch {

/// Not thread-safe, except where said.
class WatchedMemory {
 public:
  explicit WatchedMemory(tracking::PageTracker& tracker) : tracker_(tracker) {}

  /// Tracks writes to the span. The error says why that is not possible ("shared memory", ...).
  tl::expected<void, std::string> watch(platform::Span span);

  /// Appends the pages of a watched span written since they were last protected; `protect` protects them. False: the
  /// memory is not the one that was watched; call forget() and watch() again. Thread-safe without `protect`.
  bool scan(platform::Span span, bool protect, std::vector<platform::Span>& written) {
    return tracker_.scan(span, protect, written) == tracking::PageTracker::Scan::ok;
  }

  /// The same with `protect`. Appends to `faulted` those of the pages that were protected before: the CPU has taken a
  /// page fault for each.
  bool protect(platform::Span span, std::vector<platform::Span>& written, std::vector<platform::Span>& faulted);

  /// Prepares pages that Blastoff or the program is about to overwrite, so that writing to them costs no page faults.
  /// Thread-safe.
  void unprotect(platform::Span span);

  /// See PageTracker. wrote() is thread-safe.
  bool shared() const { return tracker_.shared(); }
  void wrote(platform::Span span) { tracker_.wrote(span); }
  bool allows_pinning() const { return tracker_.allows_pinning(); }
  bool faults_once_a_page() const { return tracker_.faults_once_a_page(); }

  void forget(platform::Span span) {
    watched_.remove(span);
    forget_protection(span);
  }
  void forget_all() {
    watched_.clear();
    forget_protection({0, UINTPTR_MAX});
  }

  /// Appends the events of tracked memory up to now, and forgets freed memory. False: events were lost; everything is
  /// forgotten.
  bool drain(std::vector<tracking::MemoryEvent>& events);

 private:
  void forget_protection(platform::Span span);

  tracking::PageTracker& tracker_;
  platform::IntervalSet watched_;
  std::mutex mutex_;
  platform::IntervalSet protected_;  ///< by protect(), as far as is known
};

}  // namespace blastoff::residency::watch
