// Which memory went away? What the kernel, or else interposed calls, tell of it behind one contract.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "platform/span.h"

namespace blastoff::tracking {

using platform::Span;

/// Something happened to watched memory other than a write.
struct MemoryEvent {
  enum class Kind : std::uint8_t {
    unmapped,  ///< munmap, mmap over it, a shrinking heap: the addresses may belong to other memory by now
    moved,     ///< mremap: the old addresses, as above
    dropped,   ///< madvise: the pages were given back, reading finds zeros; only the event says so, a scan need not
  };
  Kind kind;
  Span span;
  std::uintptr_t moved_to = 0;  ///< moved: where the span is now (not watched there)
};

/// Thread-safe; not for children of fork. All spans are whole pages.
class MemoryEvents {
 public:
  virtual ~MemoryEvents() = default;

  /// "userfaultfd", "interposed calls".
  virtual const char* name() const = 0;

  /// Whether nothing escapes. Interposed calls miss what the C library unmaps for itself (stacks of threads, libraries
  /// that are closed) and who calls the kernel directly.
  virtual bool complete() const { return true; }

  /// From here on what happens to the span is told; it must lie in private anonymous memory. Spans may be watched
  /// again. The error is one line.
  virtual tl::expected<void, std::string> watch(Span span) = 0;
  virtual void unwatch(Span span) = 0;

  /// Appends the events of all system calls that have returned by now, in order. False: events were lost, nothing that
  /// was known about any page may be trusted. Takes no lock that the event reader could hold. Well under a microsecond
  /// where nothing happened.
  virtual bool drain(std::vector<MemoryEvent>& events) = 0;

  /// Blocks until events are waiting to be drained (true) or stop_waiting() was called (false).
  virtual bool wait_for_events() = 0;
  virtual void stop_waiting() = 0;
};

/// Whether open_memory_events() would find the kernel's own events; starts no thread. The error is one line.
tl::expected<void, std::string> kernel_tells_of_memory();

/// The kernel's own events (userfaultfd, with a reader thread named blastoff-watch that takes no lock) where they are
/// allowed, else those of the interposed calls where the allocator library is loaded. The error is one line that says
/// why there are neither.
tl::expected<std::unique_ptr<MemoryEvents>, std::string> open_memory_events();

}  // namespace blastoff::tracking
