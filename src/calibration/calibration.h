// What `blastoff calibrate` asks of the device, its link and the kernel.
#pragma once

#include <string>

#include "config/settings.h"

namespace blastoff::calibration {

struct Request {
  bool quick = false;        ///< a trial of the calibration itself, in small sizes
  double most_seconds = 60;  ///< no rate is begun later than that
  std::string host_library;  ///< path of a BLAS, for the simulated device
};

/// Opens the device that the settings name, as a call would, and measures. JSON: {"error": one line}, or
///   device      kind, name, software, memory (bytes)
///   open_seconds, launch_seconds, call_seconds
///   link, pinning, tracking, rates, memory_rate: as in share/machine.schema.json; absent where there is no such thing
/// For a process of its own: a device, once open, stays open.
std::string calibration_json(const config::Settings& settings, const Request& request);

}  // namespace blastoff::calibration
