// What the decider learns from the records of calls.
#pragma once

#include "decide/decider.h"
#include "report/record.h"

namespace blastoff::runtime {

/// Seconds of page faults on the CPU since the operands were last used, which tracking these operands has caused.
double seconds_of_page_faults(const report::Record& record);

/// What the decider learns from a call that took `seconds` on the device.
decide::Observation observation_of(const report::Record& record, double seconds);

}  // namespace blastoff::runtime
