// Host memory whose writes we hear of: what may be tracked, what is, and what went away.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/span.h"
#include "residency/interval_set.h"
#include "tracking/page_tracker.h"

namespace blastoff::residency::watch {

/// Not thread-safe, except where said.
class WatchedMemory {
 public:
  explicit WatchedMemory(tracking::PageTracker& tracker) : tracker_(tracker) {}

  /// Makes sure that writes to the span are seen. The error says why they cannot be ("shared memory", ...).
  tl::expected<void, std::string> watch(platform::Span span);

  /// Appends the pages of a watched span written since they were last protected; `protect` protects them. False: the
  /// memory is not the one that was watched; call forget() and watch() again. Thread-safe without `protect`.
  bool scan(platform::Span span, bool protect, std::vector<platform::Span>& written) {
    return tracker_.scan(span, protect, written) == tracking::PageTracker::Scan::ok;
  }

  /// Makes pages about to be overwritten by us cheap to write.
  void unprotect(platform::Span span) { tracker_.unprotect(span); }

  /// See PageTracker.
  bool allows_pinning() const { return tracker_.allows_pinning(); }

  void forget(platform::Span span) { watched_.remove(span); }

  /// Appends what happened to watched memory by now and forgets the memory that is gone. False: anything may have
  /// happened; everything is forgotten.
  bool drain(std::vector<tracking::MemoryEvent>& events);

 private:
  tracking::PageTracker& tracker_;
  IntervalSet watched_;
};

}  // namespace blastoff::residency::watch
