// Guesses what a program wrote before calls for which tracing did not look for writes.
#pragma once

#include <vector>

#include "prediction/trace.h"

namespace blastoff::prediction {

/// Fills in `written` and `gone` of the calls before which tracing did not look for writes (TracedCall::asked). Each
/// matrix of such a call that was used before is assumed to have changed as much as the same operand of another call of
/// the routine at the same place: the latest call for which tracing looked, or else the next one. Calls for which
/// tracing looked at two uses in a row tell what happened between two uses, and come first. Others count only if there
/// is none of these, since their writes may be those before several uses. If no call tells anything, nothing was
/// written. `calls`: in the order of their starts.
void fill_in_unasked_writes(std::vector<TracedCall>& calls);

}  // namespace blastoff::prediction
