// Converts between decisions and the records of calls.
#pragma once

#include "decide/decider.h"
#include "report/record.h"

namespace blastoff::runtime {

/// Why the decision leaves a call to the CPU; Refusal::none if it sends the call to the device.
report::Refusal refusal_of(decide::Verdict verdict);

/// Seconds of page faults on the CPU since the operands were last used, which tracking these operands has caused.
double seconds_of_page_faults(const report::Record& record);

/// What the decider learns from a call that took `seconds` on the device.
decide::Observation observation_of(const report::Record& record, double seconds);

}  // namespace blastoff::runtime
