// What a report says of this process, whatever its device does.
#pragma once

#include <chrono>
#include <string>

#include "config/settings.h"
#include "report/context.h"

namespace blastoff::runtime {

/// Names and numbers that hold from the start.
report::Context identity();

/// With settings, machine, and interception up to now. `failure`: why there is no device; "" if that is not known.
report::Context describe_process(const config::Settings& settings, const std::string& failure,
                                 std::chrono::steady_clock::time_point loaded_at);

}  // namespace blastoff::runtime
