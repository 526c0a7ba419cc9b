// A call on the devices where it was placed, compared with the CPU's result if the settings ask for that.
#pragma once

#include "config/settings.h"
#include "intercept/dispatch.h"
#include "operation/operation.h"
#include "operation/verification.h"
#include "report/record.h"
#include "runtime/placement.h"

namespace blastoff::runtime {

/// Runs the operation where it was placed. `done` says whether it was done, even if an exception follows; if not,
/// record.refusal says why. `seconds`: without verification.
void run_verified(const intercept::InterceptedCall& intercepted, const operation::Operation& operation,
                  Placement& placement, report::Record& record, double& seconds, bool& done);

/// Whether the next call is to be verified. Each question counts as a call.
bool is_verified(const config::Verify& verify);
/// Records the outcome. If the result is wrong, a line says so, and the process ends if the settings say so.
void judge(const operation::Operation& operation, const operation::Comparison& comparison, report::Record& record);

}  // namespace blastoff::runtime
