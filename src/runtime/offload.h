// One call on the device, from the upload of its operands to the return of its result.
#pragma once

#include "operation/host.h"
#include "report/record.h"
#include "runtime/device_context.h"

namespace blastoff::runtime {

/// Runs the operation and fills in the record's traffic, times and policy. Refusal::none: the whole result is in host
/// memory, computed by the device or, after a failure in the middle, partly by `host`. Any other refusal: host memory
/// is unchanged and the call must still be made. In one case neither is possible: the device was lost while it
/// overwrote an operand that the call also reads. The process then ends with a message (end_torn()). `shared`: data
/// that this operation shares with others that run at the same time on other devices.
report::Refusal offload(DeviceContext& context, const operation::Operation& operation, const operation::Host& host,
                        report::Record& record, const residency::Shared& shared = {});

}  // namespace blastoff::runtime
