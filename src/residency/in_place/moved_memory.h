// Which memory has been moved to the device's NUMA node. The kernel is asked once; the answer is kept until the memory
// is freed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <variant>
#include <vector>

#include "operation/operand.h"
#include "platform/interval_set.h"
#include "platform/page_moves.h"
#include "platform/recent_map.h"
#include "platform/worker_pool.h"
#include "residency/policy.h"
#include "tracking/memory_events.h"

namespace blastoff::residency::in_place {

/// The cost of one use of an operand.
struct Use {
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
  /// A matrix with gaps between its columns that are not its own, as it was asked for.
  struct Strided {
    platform::Span bounds;
    std::size_t stride = 0;
    std::size_t column = 0;
    friend auto operator<=>(const Strided& a, const Strided& b) {
      return std::tuple(a.bounds.begin, a.bounds.end, a.stride, a.column) <=>
             std::tuple(b.bounds.begin, b.bounds.end, b.stride, b.column);
    }
  };

  static constexpr std::size_t most_strided = std::size_t{1} << 14;  ///< each event looks at all of them
  bool dealt_with(const operation::Operand& operand);
  void apply_events();
  void forget(platform::Span span);
  bool being_moved(platform::Span span) const;
  void watch(platform::Span span);
  platform::Moved move(const operation::Operand& operand);
  void remember(const operation::Operand& operand);
  void complain(const platform::Moved& moved);

  platform::WorkerPool& pool_;
  tracking::MemoryEvents* const events_;
  const int node_;

  std::mutex mutex_;
  std::condition_variable changed_;                                     // a move has ended
  std::vector<platform::Span> being_moved_;                             // by some thread, without the lock
  platform::IntervalSet done_;                                          // whole pages
  platform::RecentMap<Strided, std::monostate> strided_{most_strided};  // whose pages are all among them
  platform::IntervalSet watched_;                                       // the events tell of it
  platform::IntervalSet unheard_;                                       // done, and nobody tells when it goes away
  std::uint64_t uses_of_unheard_ = 0;
  platform::Moved totals_;
  double seconds_ = 0;
  bool complained_ = false;
  std::vector<tracking::MemoryEvent> event_buffer_;
};

}  // namespace blastoff::residency::in_place
