// Verdicts of the decision, as reports name them.
#pragma once

#include "decide/decider.h"
#include "report/refusal.h"

namespace blastoff::runtime {

/// Refusal::none: to the device.
report::Refusal refusal_of(decide::Verdict verdict);

}  // namespace blastoff::runtime
