// Which pages of a call's matrices the program has written since their last use, found out while the CPU makes all
// calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operation/operation.h"
#include "platform/interval_set.h"
#include "platform/recent_map.h"
#include "platform/span.h"
#include "platform/stopwatch.h"
#include "residency/watch/watched_memory.h"
#include "tracking/page_tracker.h"

namespace blastoff::trace {

/// What is known about a call's memory before it is made.
struct Found {
  bool asked = true;                    ///< false: writes were not looked for, to save time
  std::vector<platform::Span> gone;     ///< memory that went away, in order: the addresses may be new memory by now
  std::vector<platform::Span> written;  ///< by the program, since a call last used it; only of memory used before
  std::vector<std::pair<platform::Span, std::string>> untracked;  ///< memory that cannot be tracked, and why
};

/// Results that calls write are not the program's writes. Where there is no tracker, for memory that cannot be tracked
/// and for matrices that the program keeps rewriting (a page fault for each page costs more than it tells), 64 elements
/// of the matrix are compared with what they were: if one has changed, all pages count as written.
///
/// It keeps its own time, with what tracking costs the program, below 1.2 % of the run: beyond that, the kernel is not
/// asked until the share has fallen, and beyond 1.5 % nothing is. Not thread-safe.
class Writes {
 public:
  /// Without a tracker (null) all matrices are compared by elements.
  explicit Writes(std::unique_ptr<tracking::PageTracker> tracker);

  /// "uffd", "soft-dirty", "samples".
  const char* method() const { return tracker_ ? tracker_->name() : "samples"; }

  /// Before the CPU makes the call.
  Found before(const operation::Operation& call);

  /// A call is made that is not recorded.
  void pass_over(const operation::Operation& call);

  /// When it is over. `asked`: as before() said.
  void after(const operation::Operation& call, bool asked);

 private:
  struct Matrix {
    bool sampled = false;  ///< compared by elements
    int uses = 0;          ///< since the program rewrote it
    int rewritten = 0;     ///< times in a row after few uses
    int unchanged = 0;     ///< uses in a row
    int patience = 4;      ///< unchanged uses before it is tracked again
    std::int64_t rows = 0, columns = 0;
    std::uint64_t fingerprint = 0;
    bool known = false;  ///< the fingerprint is
  };
  Matrix& matrix_of(const operation::Operand& operand);
  void drain(std::vector<platform::Span>& gone);
  void forget(platform::Span span);
  bool watch(const operation::Operand& operand, Found& found);
  bool scan(const operation::Operand& operand, bool protect, std::vector<platform::Span>& written);
  void look(const operation::Operand& operand, Matrix& matrix, Found& found);
  void judge(const operation::Operand& operand, Matrix& matrix, std::size_t written_bytes);
  void compare(const operation::Operand& operand, Matrix& matrix, Found& found);
  void stop_tracking(const operation::Operand& operand);
  bool any_sampled(const operation::Operation& call);
  /// Runs `look` on account.
  template <class Look>
  void spend(const Look& look);
  /// `share`: of the run that it may take.
  bool costs_too_much(double share) const;

  std::unique_ptr<tracking::PageTracker> tracker_;
  std::unique_ptr<residency::watch::WatchedMemory> watched_;
  platform::Stopwatch run_;
  double spent_ = 0;               ///< seconds
  platform::IntervalSet seen_;     ///< whose writes have been asked about before
  platform::IntervalSet results_;  ///< of calls that were not asked about, or still run
  /// By the address of the first element.
  platform::RecentMap<std::uintptr_t, Matrix> matrices_{platform::most_matrices_remembered};
  std::vector<platform::Span> scratch_;
};

}  // namespace blastoff::trace
