// What every call pays besides arithmetic: link, page locks, launches, looking at pages.
#pragma once

#include <nlohmann/json.hpp>

#include "config/settings.h"
#include "operation/host.h"
#include "runtime/session.h"

namespace blastoff::calibration {

/// {"launch_seconds", "link", "pinning", "tracking"}, as in share/machine.schema.json. What cannot be
/// measured here is absent.
nlohmann::ordered_json machine_rates(runtime::Session& session, const config::Settings& settings,
                                     const operation::Host& host, bool quick);

/// Adds "call_seconds" and the link's "staged_to_device", by calls as a program makes them. To be measured last: such
/// calls page-lock host memory, from parts of which the driver makes no plain copies any more.
void add_call_rates(nlohmann::ordered_json& result, runtime::Session& session, const operation::Host& host, bool quick);

}  // namespace blastoff::calibration
