// When the calls of a process begin and end if their times differ from the traced ones.
#pragma once

#include <map>

#include "prediction/trace.h"

namespace blastoff::prediction {

/// Calls are taken in the order of their traced starts. What the program does between calls takes as long as traced. A
/// call may have waited for the latest call that had ended before it, so it begins as much later than traced as that
/// call ended.
class Course {
 public:
  /// In seconds.
  double begin_of(const TracedCall& call) const { return at(call.start, call.thread); }
  /// When the thread comes to what it did at this time of the trace.
  double at(double traced, int thread) const;

  /// The call ends at `end`. `traced_end`: its end as traced, without calls inside it unless they are part of it.
  void finish(const TracedCall& call, double traced_end, double end);

  /// When the program ends. `elapsed`: its end as traced.
  double end_of(double elapsed) const { return elapsed + shift_; }

 private:
  std::map<int, double> busy_until_;  ///< by thread
  std::map<double, double> shifts_;   ///< traced end of a call -> seconds by which it ended later
  double shift_ = 0;                  ///< of the call that ended last
  double last_end_ = 0;
};

}  // namespace blastoff::prediction
