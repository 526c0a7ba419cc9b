// The fields of a report that describe this process, whatever its device does.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.h"
#include "intercept/cpu_libraries.h"
#include "report/context.h"

namespace blastoff::runtime {

/// Names and numbers that hold from the start. `arguments`: whether the command line has the program's arguments.
report::Context identity(config::ArgumentsMode arguments);

/// The identity, with settings, machine, and interception up to now. `failure`: why there is no device; "" if the
/// reason is not known.
report::Context describe_process(const config::Settings& settings, const std::string& failure,
                                 std::chrono::steady_clock::time_point loaded_at);

/// What the allocator library has done, which is loaded on request only.
std::optional<report::Allocation> describe_allocation();

/// The processor, and the libraries that compute on it.
report::Cpu describe_cpu(const std::vector<intercept::CpuLibrary>& libraries);

/// The families of routines that are not taken; see intercept/unseen_families.h.
std::vector<report::UnseenFamily> describe_unseen();

}  // namespace blastoff::runtime
