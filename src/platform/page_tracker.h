// Which pages did the CPU write, and which memory went away? The kernel's own write tracking behind one contract.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/span.h"

namespace blastoff::platform {

/// Something happened to tracked memory other than a write.
struct MemoryEvent {
  enum class Kind : std::uint8_t {
    unmapped,  ///< munmap, mmap over it, a shrinking heap: the addresses may belong to other memory by now
    moved,     ///< mremap: the old addresses, as above
    dropped,   ///< madvise: the pages were given back, reading finds zeros; only the event says so, a scan need not
  };
  Kind kind;
  Span span;
  std::uintptr_t moved_to = 0;  ///< moved: where the span is now (not tracked there)
};

/// Thread-safe; not for children of fork, whose memory is not tracked. All spans are whole pages. A page of a tracked
/// span is *protected* or *written*: tracking begins with all pages written; protecting makes later writes (CPU and
/// kernel, of this process) turn it to written again, page by page.
class PageTracker {
 public:
  virtual ~PageTracker() = default;

  /// "uffd".
  virtual const char* name() const = 0;

  /// Starts tracking; the span must lie in private anonymous memory. Pages already tracked stay as they are.
  /// The error is one line.
  virtual tl::expected<void, std::string> track(Span span) = 0;

  /// Stops tracking; writes cost nothing any more.
  virtual void untrack(Span span) = 0;

  enum class Scan : std::uint8_t {
    ok,
    not_tracked,  ///< part of the span is not tracked (unmapped or mapped anew since): nothing is known about it
  };

  /// Appends to `written` the written pages of the span, as ascending runs; with `protect` also protects them,
  /// atomically page by page (a concurrent write is either reported now or at the next scan, never lost). An
  /// unprotected scan and the scans of different threads may run at once.
  virtual Scan scan(Span span, bool protect, std::vector<Span>& written) = 0;

  /// Makes pages written at once, cheaper than a fault for each: for memory that is about to be overwritten.
  virtual void unprotect(Span span) = 0;

  /// Appends the events of all system calls that have returned by now, in order. False: events were lost, nothing that
  /// was known about any page may be trusted. Takes no lock that the event reader could hold.
  virtual bool drain(std::vector<MemoryEvent>& events) = 0;

  /// Blocks until events are waiting to be drained (true) or stop_waiting() was called (false).
  virtual bool wait_for_events() = 0;
  virtual void stop_waiting() = 0;
};

/// Opens the best tracker of this kernel and starts its event reader (a thread that never takes a lock, blocks all
/// signals and is named blastoff-watch). The error is one line that says what the kernel or container lacks.
tl::expected<std::unique_ptr<PageTracker>, std::string> open_page_tracker();

}  // namespace blastoff::platform
