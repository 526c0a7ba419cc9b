// What the decision and the records of calls tell each other.
#pragma once

#include "decide/decider.h"
#include "report/record.h"

namespace blastoff::runtime {

/// Why a call stays on the CPU, by the decision; Refusal::none: it does not.
report::Refusal refusal_of(decide::Verdict verdict);

/// That the CPU has spent since the latest use of the call's operands, because they are tracked.
double seconds_of_page_faults(const report::Record& record);

/// Of a call that the device has made in so many seconds.
decide::Observation observation_of(const report::Record& record, double seconds);

}  // namespace blastoff::runtime
