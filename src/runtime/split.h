// One call on several devices at once.
#pragma once

#include <span>

#include "operation/host.h"
#include "platform/worker_pool.h"
#include "report/record.h"
#include "residency/page_locks.h"
#include "runtime/placement.h"

namespace blastoff::runtime {

/// Runs the parts at the same time, on `team` and the calling thread, each on its device as offload() does. Returns
/// when all have ended. The record gets the sum of the parts' traffic and the longest wait for data. `seconds` is what
/// the call took, by the devices' own clocks if they have such. If a device has not done its part, another working one
/// of `devices` does it, or else `host`. Refusal::none: the whole result is in host memory. Any other refusal: no part
/// has been done, host memory is unchanged and the call must still be made. `host` must be able to compute all
/// operations of the parts; only one thread uses it at a time. Torn results as in offload(). `locks`: null, or page
/// locks on the operands.
report::Refusal offload_parts(std::span<const Part> parts, std::span<DeviceContext* const> devices,
                              const operation::Host& host, platform::WorkerPool& team, report::Record& record,
                              double& seconds, const residency::PageLocks* locks = nullptr);

}  // namespace blastoff::runtime
