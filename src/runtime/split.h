// One call on several devices at once.
#pragma once

#include <span>

#include "operation/host.h"
#include "platform/worker_pool.h"
#include "report/record.h"
#include "runtime/placement.h"

namespace blastoff::runtime {

/// Runs the parts at the same time, on `team` and the calling thread, each by its device as offload() does, and returns
/// when all have ended. The record gets the sums of their traffic, and the longest waiting for data; `seconds` is what
/// the call took, by the devices' own clocks where they have such. A part that its device has not done is done by
/// another one of `devices` that works, or by `host`. Refusal::none: the whole result is in host memory. Otherwise no
/// part has been done, host memory is unchanged and the call must still be made. `host` must be able to compute all
/// operations of the parts; it is used by one thread at a time. Torn results as in offload().
report::Refusal offload_parts(std::span<const Part> parts, std::span<Session* const> devices,
                              const operation::Host& host, platform::WorkerPool& team, report::Record& record,
                              double& seconds);

}  // namespace blastoff::runtime
