// Seconds of work on a device.
#pragma once

#include <optional>

#include "device/device.h"
#include "platform/stopwatch.h"
#include "report/record.h"

namespace blastoff::runtime {

/// Measures by the clock of the device if the device has one, else wall time.
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
