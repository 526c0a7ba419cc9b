// Seconds of work on a device.
#pragma once

#include <optional>

#include "device/device.h"
#include "platform/stopwatch.h"

namespace blastoff::runtime {

/// By the clock of the device, where it has one; else wall time.
class DeviceStopwatch {
 public:
  explicit DeviceStopwatch(const device::Device& device) : device_(device), before_(device.own_seconds()) {}
  double seconds() const { return before_ ? *device_.own_seconds() - *before_ : stopwatch_.seconds(); }

 private:
  const device::Device& device_;
  const std::optional<double> before_;
  const platform::Stopwatch stopwatch_;
};

}  // namespace blastoff::runtime
