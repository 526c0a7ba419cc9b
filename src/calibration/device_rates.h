// How fast the device computes each family of operations, on operands in its own memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/trial.h"
#include "operation/host.h"
#include "runtime/session.h"

namespace blastoff::calibration {

/// Seconds of one execution, waited for: the median of several. Nothing where the device does not compute it, or has no
/// memory for it.
std::optional<double> seconds_on_device(runtime::Session& session, const Trial& trial, const operation::Host& host);

/// {"rates": rows, "memory_rate": bytes per second}, as in the schema. `launch_seconds` are not part of the rates.
/// Begins no size when `time_left` says no.
nlohmann::ordered_json device_rates(runtime::Session& session, const operation::Host& host, double launch_seconds,
                                    bool quick, const std::function<bool()>& time_left);

}  // namespace blastoff::calibration
