// One call on the device, from its operands' way there to its result's way home.
#pragma once

#include "operation/host.h"
#include "report/record.h"
#include "runtime/session.h"

namespace blastoff::runtime {

/// Runs the operation, filling the record's traffic, times and policy. Refusal::none: the result is in host memory,
/// every element of it, computed by the device or, after a failure half way, for the rest by `host`. Otherwise host
/// memory is as it was and the call is still to be made. The one case that is neither ends the process with a message
/// (see end_torn()): the device was lost while it overwrote an operand that the call also reads.
report::Refusal offload(Session& session, const operation::Operation& operation, const operation::Host& host,
                        report::Record& record);

}  // namespace blastoff::runtime
