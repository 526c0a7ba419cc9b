// The time of a call and of the calls inside it, and of work on a device.
#pragma once

#include <algorithm>
#include <optional>

#include "device/device.h"
#include "platform/stopwatch.h"
#include "report/call_log.h"
#include "report/record.h"
#include "report/recorder.h"

namespace blastoff::runtime {

/// The calls inside it are those that this thread has recorded since the stopwatch began. The time in which --log
/// printed their lines is left out.
class CallStopwatch {
 public:
  double seconds() const { return without_lines(with_lines()); }
  double with_lines() const { return watch_.seconds(); }
  double without_lines(double seconds) const {
    return std::max(0.0, seconds - (report::seconds_of_logging() - logging_before_));
  }
  /// Returns `elapsed`, the seconds of a call, without the seconds of the calls inside it.
  double own(double elapsed) const { return report::own_seconds(elapsed, recorded_before_); }
  double inside() const { return report::recorded_seconds() - recorded_before_; }
  void restart() { *this = CallStopwatch(); }

  /// Sets the time of this call, with the calls inside it, to `seconds` by a device's own clock.
  void took(double seconds) const { report::set_seconds_ahead(ahead_before_ + seconds - watch_.seconds()); }

 private:
  platform::Stopwatch watch_;
  double logging_before_ = report::seconds_of_logging();
  double recorded_before_ = report::recorded_seconds();
  double ahead_before_ = report::seconds_ahead();
};

/// Measures seconds of work on a device by the clock of the device if the device has one, else wall time.
class DeviceStopwatch {
 public:
  explicit DeviceStopwatch(const device::Device& device) : device_(device), before_(device.own_time()) {}

  double seconds() const { return before_ ? device_.own_time()->total - before_->total : stopwatch_.seconds(); }

  /// Returns the seconds of a call that is over, and sets how long it waited for data if the device has a clock.
  double seconds_of(report::Record& record) const {
    if (before_) record.traffic.transfer_seconds = device_.own_time()->copying - before_->copying;
    return seconds();
  }

 private:
  const device::Device& device_;
  const std::optional<device::OwnTime> before_;
  const platform::Stopwatch stopwatch_;
};

}  // namespace blastoff::runtime
