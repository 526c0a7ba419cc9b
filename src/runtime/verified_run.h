// A call on the devices where it was placed, compared with the CPU's result if the settings ask for that.
#pragma once

#include "intercept/dispatch.h"
#include "operation/operation.h"
#include "report/record.h"
#include "runtime/placement.h"

namespace blastoff::runtime {

/// Runs the operation where it was placed. `done` says whether it was done, even if an exception follows; if not,
/// record.refusal says why. `seconds`: without verification.
void run_verified(const intercept::InterceptedCall& intercepted, const operation::Operation& operation,
                  Placement& placement, report::Record& record, double& seconds, bool& done);

}  // namespace blastoff::runtime
