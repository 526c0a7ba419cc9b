// Memory of the program's own under a block: which of its bytes may have been written?
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "blocks/error.h"
#include "ledger/ledger.h"
#include "platform/span.h"

namespace blastoff::blocks {

using platform::Span;
class ProgramMemory;

/// All such memory of a process. It is one place of the ledger, so that devices may have mirrors of the same memory:
/// each learns what the others write. Thread-safe.
class Watch {
 public:
  /// The ledger outlives this. Null: no memory can be watched.
  explicit Watch(ledger::Ledger* ledger) : ledger_(ledger) {}

  /// The error: there is no such memory, or part of it is under another block.
  Result<std::unique_ptr<ProgramMemory>> open(Span bytes);

  /// Whether some of these pages are under a block.
  bool covers_any(Span pages);

 private:
  friend class ProgramMemory;
  void close(ProgramMemory& memory);
  bool any_in(Span span) const;  ///< under the mutex

  ledger::Ledger* const ledger_;
  std::mutex mutex_;
  std::optional<ledger::Place> place_;            // since the first block
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

  /// Appends what may have been written since the last call, by the program or by calls: runs of addresses. What is
  /// written later is told by the next call, so a copy has to be made after this. The error: the memory is no longer
  /// there.
  Status written(std::vector<Span>& runs);

  /// Before and after a block's device writes all of it: this is told to others alone.
  void begin_overwrite();
  void end_overwrite();

 private:
  friend class Watch;
  ProgramMemory(Watch& watch, Span bytes);
  Status track();
  void bring_results_home();
  bool scan(std::vector<Span>& runs);
  bool scan_pages(std::vector<Span>& runs);
  bool edge_written(Span edge, std::vector<unsigned char>& content);
  Span head() const { return {bytes_.begin, pages_.begin}; }
  Span tail() const { return {pages_.end, bytes_.end}; }
  template <class Visit>
  void each_chunk(Visit&& visit) const;

  Watch& watch_;
  const Span bytes_;
  const Span pages_;  // whole ones; empty at the end of the block where there are none
  bool exact_ = false;
  std::vector<unsigned char> head_content_;
  std::vector<unsigned char> tail_content_;
};

}  // namespace blastoff::blocks
