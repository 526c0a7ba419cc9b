// Finds out which pages of a call's matrices the program has written since their last use, while the CPU makes all
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operation/operation.h"
#include "platform/backoff.h"
#include "platform/interval_set.h"
#include "platform/recent_map.h"
#include "platform/span.h"
#include "platform/stopwatch.h"
#include "tracking/page_tracker.h"
#include "tracking/watched_memory.h"

namespace blastoff::trace {

/// The state of a call's memory before the call.
struct Found {
  bool asked = true;                    ///< false: writes were not looked for, to save time
  std::vector<platform::Span> gone;     ///< memory that was unmapped, in order. New memory may be at these addresses by
                                        ///< now
  std::vector<platform::Span> written;  ///< pages that the program has written since the latest call that used them;
                                        ///< only memory that was used before
  std::vector<std::pair<platform::Span, std::string>> untracked;  ///< memory that cannot be tracked, and why
};

/// Finds the program's writes. Results that calls write do not count. For some matrices, 64 elements are compared with
/// their earlier values: if there is no tracker, if the memory cannot be tracked, or if the program keeps rewriting the
/// matrix (then a page fault for each page would cost more than it tells). If an element has changed, all pages count
/// as written.
///
/// The time for this, including the cost of tracking to the program, stays below 1.2 % of the run. Above that share,
/// the kernel is not asked until the share has fallen. Above 1.5 %, nothing is done. Not thread-safe.
class Writes {
 public:
  /// If `tracker` is nullptr, all matrices are compared by elements.
  explicit Writes(std::unique_ptr<tracking::PageTracker> tracker);

  /// Returns "uffd", "soft-dirty" or "samples".
  const char* method() const { return tracker_ ? tracker_->name() : "samples"; }

  /// Called before the CPU makes the call.
  Found before(const operation::Operation& call);

  /// Called instead of before() if the call is not recorded.
  void pass_over(const operation::Operation& call);

  /// Called when the call has ended. `asked`: Found::asked of before().
  void after(const operation::Operation& call, bool asked);

 private:
  /// How the program's writes to a matrix are found.
  struct MatrixWrites {
    bool sampled = false;  ///< its elements are compared; it is not tracked
    int uses = 0;          ///< uses since the program has rewritten it
    int rewritten = 0;     ///< how many times in a row it was rewritten after few uses
    platform::Backoff backoff{{.first = 4, .max = 1 << 20}};  ///< counts unchanged uses until it is tracked again
    std::int64_t rows = 0, columns = 0;
    std::uint64_t fingerprint = 0;
    bool known = false;  ///< `fingerprint` is known
  };
  MatrixWrites& matrix_of(const operation::Operand& operand);
  void drain(std::vector<platform::Span>& gone);
  void forget(platform::Span span);
  bool watch(const operation::Operand& operand, Found& found);
  bool scan(const operation::Operand& operand, bool protect, std::vector<platform::Span>& written);
  void look(const operation::Operand& operand, MatrixWrites& matrix, Found& found);
  void judge(const operation::Operand& operand, MatrixWrites& matrix, std::size_t written_bytes);
  void compare(const operation::Operand& operand, MatrixWrites& matrix, Found& found);
  void stop_tracking(const operation::Operand& operand);
  bool any_sampled(const operation::Operation& call);
  /// Runs `look` and adds its time to `spent_`.
  template <class Look>
  void spend(const Look& look);
  /// `share`: the share of the run that the work may take.
  bool costs_too_much(double share) const;

  std::unique_ptr<tracking::PageTracker> tracker_;
  std::unique_ptr<tracking::WatchedMemory> watched_;
  platform::Stopwatch run_;
  double spent_ = 0;               ///< seconds spent so far
  platform::IntervalSet seen_;     ///< memory of which the kernel has been asked before
  platform::IntervalSet results_;  ///< results of calls that still run, or for which the kernel was not asked
  /// Indexed by the address of the first element.
  platform::RecentMap<std::uintptr_t, MatrixWrites> matrices_{platform::max_matrices_remembered};
  std::vector<platform::Span> scratch_;
};

}  // namespace blastoff::trace
