// What a program wrote before calls that tracing did not ask about.
#pragma once

#include <vector>

#include "prediction/trace.h"

namespace blastoff::prediction {

/// Fills in `written` and `gone` of the calls of which nothing is known (TracedCall::asked): each of their matrices
/// that was used before has changed as much as the same operand of another call of the routine at the same place, the
/// latest that was asked about, or else the next. A call that was asked about twice in a row tells what happened
/// between two uses; others count only where there is none of these, since their writes may be those before several
/// uses. Where no call tells anything, nothing was written. `calls`: by start.
void fill_in_unasked_writes(std::vector<TracedCall>& calls);

}  // namespace blastoff::prediction
