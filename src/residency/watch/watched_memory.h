// Host memory whose writes are tracked: what can be tracked, what is tracked, and what was freed.
#pragma once

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

  /// Prepares pages that Blastoff or the program is about to overwrite, so that writing to them costs no page faults.
  /// Thread-safe.
  void unprotect(platform::Span span) { tracker_.unprotect(span); }

  /// See PageTracker. wrote() is thread-safe.
  bool shared() const { return tracker_.shared(); }
  void wrote(platform::Span span) { tracker_.wrote(span); }
  bool allows_pinning() const { return tracker_.allows_pinning(); }
  bool faults_once_a_page() const { return tracker_.faults_once_a_page(); }

  void forget(platform::Span span) { watched_.remove(span); }
  void forget_all() { watched_.clear(); }

  /// Appends the events of tracked memory up to now, and forgets freed memory. False: events were lost; everything is
  /// forgotten.
  bool drain(std::vector<tracking::MemoryEvent>& events);

 private:
  tracking::PageTracker& tracker_;
  platform::IntervalSet watched_;
};

}  // namespace blastoff::residency::watch
