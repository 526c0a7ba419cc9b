// Which memory has been moved to the device's NUMA node. The kernel is asked once; the answer is kept until the memory
// is freed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "operation/operand.h"
#include "platform/interval_set.h"
#include "platform/page_moves.h"
#include "platform/worker_pool.h"
#include "residency/in_place/operand_set.h"
#include "residency/policy.h"
#include "tracking/memory_events.h"

namespace blastoff::residency::in_place {

/// The cost of one use of an operand.
struct Use {
  bool first = false;       ///< its pages had not been asked for, or were freed since
  std::uint64_t moved = 0;  ///< bytes
  double seconds = 0;       ///< of waiting
};

/// Thread-safe. A use of memory that has been moved already makes no system call and takes well under a microsecond.
class MovedMemory {
 public:
  /// `events` may be null.
  MovedMemory(platform::WorkerPool& pool, tracking::MemoryEvents* events, int node)
      : pool_(pool), events_(events), node_(node) {}

  /// Moves the pages of the operand, as far as they can be moved.
  Use use(const operation::Operand& operand);

  /// Whether they have been; nothing where another thread holds the lock.
  std::optional<bool> already(const operation::Operand& operand);

  Migration totals();

 private:
  bool dealt_with(const operation::Operand& operand);
  void apply_events();
  void forget(platform::Span span);
  bool being_moved(platform::Span span) const;
  void watch(platform::Span span);
  platform::Moved move(const operation::Operand& operand);
  void complain(const platform::Moved& moved);

  platform::WorkerPool& pool_;
  tracking::MemoryEvents* const events_;
  const int node_;

  std::mutex mutex_;
  std::condition_variable changed_;          // a move has ended
  std::vector<platform::Span> being_moved_;  // by some thread, without the lock
  OperandSet done_;
  platform::IntervalSet watched_;  // the events tell of it
  platform::IntervalSet unheard_;  // done, and nobody tells when it goes away
  std::uint64_t uses_of_unheard_ = 0;
  platform::Moved totals_;
  double seconds_ = 0;
  bool complained_ = false;
  std::vector<tracking::MemoryEvent> event_buffer_;
};

}  // namespace blastoff::residency::in_place
