// The time of a call, and of the calls inside it.
#pragma once

#include <algorithm>

#include "platform/stopwatch.h"
#include "report/call_log.h"
#include "report/recorder.h"

namespace blastoff::runtime {

/// The calls inside it are those that this thread has recorded meanwhile. Lines that --log has printed of them do not
/// count.
class CallStopwatch {
 public:
  double seconds() const { return without_lines(with_lines()); }
  double with_lines() const { return watch_.seconds(); }
  double without_lines(double seconds) const {
    return std::max(0.0, seconds - (report::seconds_of_logging() - logging_before_));
  }
  /// The part of a call that took `elapsed` which the calls inside it have not taken.
  double own(double elapsed) const { return report::own_seconds(elapsed, recorded_before_); }
  double inside() const { return report::recorded_seconds() - recorded_before_; }
  void restart() { *this = CallStopwatch(); }

  /// By a device's own clock, the call has taken so long, calls inside it included.
  void took(double seconds) const { report::set_seconds_ahead(ahead_before_ + seconds - watch_.seconds()); }

 private:
  platform::Stopwatch watch_;
  double logging_before_ = report::seconds_of_logging();
  double recorded_before_ = report::recorded_seconds();
  double ahead_before_ = report::seconds_ahead();
};

}  // namespace blastoff::runtime
