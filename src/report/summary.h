// What the JSON report and the printed summary have in common.
#pragma once

#include <optional>

#include "report/context.h"
#include "report/earlier_run.h"
#include "report/recorder.h"

namespace blastoff::report {

/// The sums over all routines.
RoutineTotals sum_over_routines(const Totals& totals);

/// This run, for later runs of the same command.
EarlierRun whole_run(const Totals& totals, const Context& context);

/// Seconds saved against earlier runs on the CPU; nullopt if these have done other work. Blastoff can slow what the
/// program does outside calls, but by no more than the calls take, during which other ranks wait, and opening the
/// device. It does not make that faster, except where a rank waits for other ranks' calls: a file that is in the cache
/// now, for example, is no merit of ours.
std::optional<double> saved_against(const EarlierRun& earlier, const Totals& totals, const Context& context);

/// The wall time that a process has saved, compared with a run on the CPU alone.
struct Verdict {
  /// Against earlier runs on the CPU, if some are known that made the same calls. Else: seconds that the busiest thread
  /// would have spent in calls on the CPU, minus the seconds that all calls have taken. Negative if Blastoff was
  /// slower.
  double saved = 0;
  /// Seconds of the earlier runs; 0: none is known.
  double cpu_run = 0;
  /// Whether the calls of threads would overlap on the CPU as they do now. Otherwise `saved` is a lower bound.
  bool alike = true;
  /// Share of the operations on the device whose time on the CPU has been measured.
  double known_share = 0;
  bool known() const { return cpu_run > 0 || (known_share >= min_known_share && (alike || saved > 0)); }

  static constexpr double min_known_share = 0.8;
};
/// `sums`: over all routines. python/blastoff/job/wall.py computes the same for jobs.
Verdict verdict(const Totals& totals, const RoutineTotals& sums, const Context& context);

/// Reuse: how many times devices have read each byte of a matrix, on average, for each time that it came to them:
/// copied, moved, or read in place for the first time. 0 if they have read nothing.
double operand_reuse(const RoutineTotals& sums);

}  // namespace blastoff::report
