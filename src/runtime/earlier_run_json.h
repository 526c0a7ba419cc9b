// Whole runs in the files of the user's cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "report/earlier_run.h"

namespace blastoff::runtime {

inline nlohmann::json json_of(const report::EarlierRun& run) {
  return {run.flops, run.seconds, run.in_calls, run.runs};
}

/// nullopt if json_of() did not make it.
inline std::optional<report::EarlierRun> run_in(const nlohmann::json& run) {
  if (!run.is_array() || run.size() != 4 || !run[3].is_number_unsigned()) return std::nullopt;
  for (const nlohmann::json& each : run)
    if (!each.is_number() || !std::isfinite(each.get<double>()) || each.get<double>() < 0) return std::nullopt;
  return report::EarlierRun{run[0].get<double>(), run[1].get<double>(), run[2].get<double>(),
                            run[3].get<std::uint32_t>()};
}

}  // namespace blastoff::runtime
