// Memory of the program's own under a block: which of its bytes may the program have written?
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "blocks/error.h"
#include "platform/span.h"
#include "tracking/page_tracker.h"

namespace blastoff::blocks {

using platform::Span;
class ProgramMemory;

/// All such memory of a process. Thread-safe.
class Watch {
 public:
  /// The tracker outlives this, and nobody else takes its events or protects what is tracked here. Null: no memory can
  /// be watched.
  explicit Watch(tracking::PageTracker* tracker) : tracker_(tracker) {}

  /// The error: there is no such memory, or part of it is under another block.
  Result<std::unique_ptr<ProgramMemory>> open(Span bytes);

 private:
  friend class ProgramMemory;
  void close(ProgramMemory& memory);
  void collect_events();  ///< under the mutex

  tracking::PageTracker* const tracker_;
  std::mutex mutex_;
  std::map<std::uintptr_t, ProgramMemory*> all_;  // by their first byte
};

/// Pages that lie wholly in the block are tracked. What is left at both ends, less than two pages, is compared with its
/// last content: its pages may hold memory of others too, another block's for example. Used by one thread at a time.
class ProgramMemory {
 public:
  ~ProgramMemory();
  ProgramMemory(const ProgramMemory&) = delete;
  ProgramMemory& operator=(const ProgramMemory&) = delete;

  Span bytes() const { return bytes_; }

  /// Whether written() tells what was written; otherwise it always gives everything.
  bool exact() const { return exact_; }

  /// Appends what may have been written since the last call: runs of addresses. What is written later is told
  /// by the next call, so a copy has to be made after this. The error: the memory is no longer there.
  Status written(std::vector<Span>& runs);

  /// Before and after Blastoff itself writes all of it: this is not told.
  void begin_overwrite();
  void end_overwrite();

 private:
  friend class Watch;
  ProgramMemory(Watch& watch, Span bytes);
  Status track();
  bool scan(std::vector<Span>& runs);
  bool edge_written(Span edge, std::vector<unsigned char>& content);
  Span head() const { return {bytes_.begin, pages_.begin}; }
  Span tail() const { return {pages_.end, bytes_.end}; }

  Watch& watch_;
  const Span bytes_;
  const Span pages_;  // whole ones; empty at the end of the block where there are none
  bool exact_ = false;
  std::vector<unsigned char> head_content_;
  std::vector<unsigned char> tail_content_;
  // What the events have told, under the watch's mutex:
  bool vanished_ = false;      // it may be other memory now
  std::vector<Span> dropped_;  // pages that the program gave back: they read as zeros
};

}  // namespace blastoff::blocks
