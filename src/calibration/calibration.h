// Measures the device, its link and the kernel's page tracking for `blastoff calibrate`.
#pragma once

#include <string>

#include "config/settings.h"

namespace blastoff::calibration {

struct Request {
  bool quick = false;        ///< only small sizes, to test the calibration itself
  double max_seconds = 60;   ///< after this time, no further rate is measured
  std::string host_library;  ///< path of a BLAS that computes for the simulated device
};

/// Opens the device that the settings name, as a call would, and measures it. Returns JSON: {"error": one line}, or
///   device      kind, name, software, memory (bytes)
///   open_seconds, launch_seconds, call_seconds, seconds (of the whole measurement)
///   link, pinning, tracking, rates, memory_rate: as in share/machine.schema.json; absent if there is no such thing
///   cpu_device_memory_rate: there the host's device_memory_rate
/// To be called in a process of its own: a device stays open after it was opened.
std::string calibration_json(const config::Settings& settings, const Request& request);

}  // namespace blastoff::calibration
