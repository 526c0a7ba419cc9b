// What the JSON report and the printed summary have in common.
#pragma once

#include "report/recorder.h"

namespace blastoff::report {

/// All routines together.
RoutineTotals sum_over_routines(const Totals& totals);

/// What a process has saved, in wall time, against a run of its own on the CPU.
struct Verdict {
  /// Seconds that the busiest thread would have taken in calls on the CPU, less those that all calls have taken.
  /// Negative: it took longer.
  double saved = 0;
  /// Whether threads would overlap on the CPU as they do now: otherwise `saved` is a lower bound.
  bool alike = true;
  /// The share of the operations on the device for which the CPU's time has been measured.
  double known_share = 0;
  bool known() const { return known_share >= least_known_share && (alike || saved > 0); }

  static constexpr double least_known_share = 0.8;
};
/// `sums`: over all routines. `cost_seconds`: Context::cost_seconds.
Verdict verdict(const Totals& totals, const RoutineTotals& sums, double cost_seconds);

/// Reuse: how many times devices have read a byte of a matrix, on average, for each time that it came to them, whether
/// it was copied, moved, or read where it lay for the first time. 0 where they have read none.
double operand_reuse(const RoutineTotals& sums);

}  // namespace blastoff::report
