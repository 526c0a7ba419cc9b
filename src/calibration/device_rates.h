// Measures how fast the device computes each family of operations, with operands in its own memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "calibration/trial.h"
#include "operation/host.h"
#include "runtime/device_context.h"

namespace blastoff::calibration {

/// Returns the median time of one execution in seconds, until the device has finished it. Nothing if the device cannot
/// compute it, or lacks memory for it.
std::optional<double> seconds_on_device(runtime::DeviceContext& context, const Trial& trial,
                                        const operation::Host& host);

/// Returns {"rates": rows, "memory_rate": bytes per second}, as in the schema. `launch_seconds` are not part of the
/// rates. No further size is begun when `time_left` returns false.
nlohmann::ordered_json device_rates(runtime::DeviceContext& context, const operation::Host& host, double launch_seconds,
                                    bool quick, const std::function<bool()>& time_left);

}  // namespace blastoff::calibration
