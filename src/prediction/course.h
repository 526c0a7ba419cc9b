// When the calls of a process begin and end if each takes another time than it was traced with.
#pragma once

#include <map>

#include "prediction/trace.h"

namespace blastoff::prediction {

/// Calls come in the order of their traced starts. What the program does between calls takes as long as traced: a call
/// begins as much later than traced as the latest call that had ended before it, because it may have waited for that.
class Course {
 public:
  /// Seconds.
  double begin_of(const TracedCall& call) const;

  /// The call is over at `end`. `traced_end`: likewise as traced, without calls inside it unless these are part of it.
  void finish(const TracedCall& call, double traced_end, double end);

  /// When a program ends that was traced for so long.
  double end_of(double elapsed) const { return elapsed + shift_; }

 private:
  std::map<int, double> busy_until_;  ///< by thread
  std::map<double, double> shifts_;   ///< traced end of a call -> how much later it ended
  double shift_ = 0;                  ///< of the last one to end
  double last_end_ = 0;
};

}  // namespace blastoff::prediction
