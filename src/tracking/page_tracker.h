// Which pages did the CPU write, and which memory went away? The kernel's own write tracking behind one contract.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/memory_map.h"
#include "platform/span.h"
#include "tracking/absent_pages.h"
#include "tracking/memory_events.h"

namespace blastoff::tracking {

/// The CPU's first write to a tracked page, by one thread: as much as copying that page some seven times. Measured with
/// Linux 6.18; the same for pages inside huge pages.
inline constexpr double seconds_of_page_fault = 1.3e-6;

/// Thread-safe; not for children of fork, whose memory is not tracked. All spans are whole pages. A page of a tracked
/// span is *protected* or *written*: tracking begins with all pages written; protecting makes later writes (CPU and
/// kernel, of this process) turn it to written again, page by page.
class PageTracker {
 public:
  virtual ~PageTracker() = default;

  /// "uffd", "soft-dirty".
  virtual const char* name() const = 0;

  /// Whether track() accepts such memory.
  virtual bool tracks(platform::MemoryKind kind) const { return kind == platform::MemoryKind::anonymous; }

  /// Starts tracking; tracks() must hold for all of the span. Pages already tracked stay as they are.
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
  /// unprotected scan and the scans of different threads may run at once. A tracker may report more than was written,
  /// and pages that it could not protect are reported again by the next scan.
  virtual Scan scan(Span span, bool protect, std::vector<Span>& written) = 0;

  /// Makes pages written at once, cheaper than a fault for each: for memory that is about to be overwritten.
  virtual void unprotect(Span span) = 0;

  /// Whether memory of tracked spans may stay page-locked for a device: the end of such memory is reported, whatever
  /// causes it, and protecting a page never separates the locked page from the program's.
  virtual bool allows_pinning() const = 0;

  /// Whether the program takes one page fault for each page that it writes and a scan then reports, and none where
  /// unprotect() was called before.
  virtual bool faults_once_a_page() const { return false; }

  /// Whether all that write the memory tell the tracker: then a write costs no page fault, and one past the page table
  /// is found, too.
  virtual bool is_told() const { return false; }

  /// Gives up pages of tracked memory. nullptr: not here, since pages would not be filled for the kernel's own
  /// accesses.
  virtual AbsentPages* absent_pages() { return nullptr; }

  /// What became of tracked memory besides being written.
  virtual EventSource& events() = 0;
};

enum class TrackerKind : std::uint8_t {
  best,        ///< of those that work here, in the order below
  uffd,        ///< userfaultfd's asynchronous write protection (Linux 6.7)
  soft_dirty,  ///< soft-dirty bits of the page table (CONFIG_MEM_SOFT_DIRTY)
};

/// Opens a tracker. Threads of its own never take a lock, block all signals and are named blastoff-watch. The error is
/// one line that says what the kernel or container lacks.
tl::expected<std::unique_ptr<PageTracker>, std::string> open_page_tracker(TrackerKind kind = TrackerKind::best);

}  // namespace blastoff::tracking
