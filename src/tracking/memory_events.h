// Which memory went away? One contract for the events of the kernel and those of interposed calls.
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

/// Where events are taken from. Thread-safe; not for children of fork.
class EventSource {
 public:
  virtual ~EventSource() = default;

  /// Appends the events of all system calls that have returned by now, in order. False: events were lost, nothing that
  /// was known about any page may be trusted. Takes no lock that the event reader could hold. Well under a microsecond
  /// where nothing happened.
  virtual bool drain(std::vector<MemoryEvent>& events) = 0;

  /// Blocks until events are waiting to be drained (true) or stop_waiting() was called (false).
  virtual bool wait_for_events() = 0;
  virtual void stop_waiting() = 0;
};

/// Events of the memory that it is asked to watch. All spans are whole pages.
class MemoryEvents : public EventSource {
 public:
  /// "userfaultfd", "interposed calls".
  virtual const char* name() const = 0;

  /// Whether every event is reported. Interposed calls miss what the C library unmaps for itself (stacks of threads,
  /// libraries that are closed) and direct system calls.
  virtual bool complete() const { return true; }

  /// Reports what happens to the span from here on. The span must lie in private anonymous memory, and
  /// may be watched already. The error is one line.
  virtual tl::expected<void, std::string> watch(Span span) = 0;
  virtual void unwatch(Span span) = 0;
};

/// Whether open_memory_events() would find the kernel's own events; starts no thread. The error is one line.
tl::expected<void, std::string> kernel_tells_of_memory();

/// The kernel's own events (userfaultfd, with a reader thread named blastoff-watch that takes no lock) where they are
/// allowed, else those of the interposed calls where the allocator library is loaded. The error is one line that says
/// why there are neither.
tl::expected<std::unique_ptr<MemoryEvents>, std::string> open_memory_events();

}  // namespace blastoff::tracking
