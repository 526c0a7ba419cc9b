// Measures what every call pays besides arithmetic: the link, page locks, launches, looking at pages.
#pragma once

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "operation/host.h"
#include "runtime/device_context.h"

namespace blastoff::calibration {

/// Returns {"launch_seconds", "link", "pinning", "tracking"}, as in share/machine.schema.json, and
/// "cpu_device_memory_rate", there the host's "device_memory_rate". A value that cannot be measured here is absent.
nlohmann::ordered_json machine_rates(runtime::DeviceContext& context, const config::Settings& settings,
                                     const operation::Host& host, bool quick);

/// Adds "call_seconds" and the link's "staged_to_device", measured by calls like a program's. To be measured last: such
/// calls page-lock host memory, and the driver then no longer makes plain copies from parts of that memory.
void add_call_rates(nlohmann::ordered_json& result, runtime::DeviceContext& context, const operation::Host& host,
                    bool quick);

}  // namespace blastoff::calibration
