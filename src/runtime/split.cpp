#include "runtime/split.h"

#include <algorithm>
#include <cfenv>
#include <mutex>
#include <vector>

#include "platform/stopwatch.h"
#include "platform/threads.h"
#include "runtime/call_stopwatch.h"
#include "runtime/gathered_solve.h"
#include "runtime/offload.h"

namespace blastoff::runtime {

namespace {

using operation::Host;
using operation::Operation;
using report::Record;
using report::Refusal;

/// Serializes the use of the program's library: a program with one thread may have a library that is made for one
/// thread.
class OneAtATime final : public Host {
 public:
  explicit OneAtATime(const Host& host) : host_(host) {}
  bool can_compute(const Operation& operation) const override { return host_.can_compute(operation); }
  bool compute(const Operation& operation) const override {
    const std::lock_guard lock(mutex_);
    return host_.compute(operation);
  }

 private:
  const Host& host_;
  mutable std::mutex mutex_;
};

/// How far a part has come.
struct Progress {
  std::size_t done = 0;  ///< operations whose results are in host memory
  Refusal refusal = Refusal::none;
  Record record;
  double seconds = 0;
};

/// Runs the rest of a part on one device. `shared`: for the first of these operations.
void run_rest(const Part& part, DeviceContext& context, const Host& host, Progress& progress,
              residency::Shared shared = {}) {
  const DeviceStopwatch stopwatch(context.device());
  Record record;
  double flops = 0;
  for (; progress.done < part.operations.size(); ++progress.done) {
    const Operation& operation = part.operations[progress.done];
    progress.refusal = offload(context, operation, host, record, shared);
    if (progress.refusal != Refusal::none) break;
    flops += operation.work.flops;
    ++shared.number;
  }
  const double seconds = stopwatch.seconds_of(record);
  progress.seconds += seconds;
  progress.record.traffic += record.traffic;
  progress.record.policy = record.policy;
  progress.record.operands_kept = record.operands_kept;
  progress.record.queues_at_once = record.queues_at_once;
  if (flops > 0) context.count_part(record, flops, seconds);
}

/// Does what the part's own device has not done. The operands are intact, since only finished operations change host
/// memory.
void take_over(const Part& part, std::span<DeviceContext* const> devices, const Host& host, Progress& progress) {
  for (DeviceContext* const context : devices) {
    if (progress.done == part.operations.size()) return;
    if (context != part.context && context->working()) run_rest(part, *context, host, progress);
  }
  for (; progress.done < part.operations.size(); ++progress.done) host.compute(part.operations[progress.done]);
}

std::vector<std::span<const Operation>> operations_of(std::span<const Part> parts) {
  std::vector<std::span<const Operation>> result;
  for (const Part& part : parts) result.emplace_back(part.operations);
  return result;
}

/// Gives the floating-point environment of the calling thread to the threads that work for it.
class Environment {
 public:
  Environment() { std::fegetenv(&environment_); }
  void enter() const { std::fesetenv(&environment_); }

 private:
  std::fenv_t environment_{};
};

}  // namespace

Refusal offload_parts(std::span<const Part> parts, std::span<DeviceContext* const> devices, const Host& program,
                      platform::WorkerPool& team, Record& record, double& seconds, const residency::PageLocks* locks) {
  const OneAtATime host(program);
  const Environment environment;
  const platform::Stopwatch stopwatch;
  std::vector<Progress> progress(parts.size());
  residency::Sharing sharing(operations_of(parts));
  team.run(parts.size(), [&](std::size_t i) {
    environment.enter();
    const residency::Shared first{&sharing, i, 0, locks};
    if (!platform::run_with_ample_stack([&] { run_rest(parts[i], *parts[i].context, host, progress[i], first); }))
      progress[i].refusal = Refusal::no_host_memory;
    sharing.leave(i);
  });
  if (std::ranges::all_of(progress, [](const Progress& each) { return each.done == 0; }))
    return progress.front().refusal;
  const auto all_done = [&] {
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (progress[i].done < parts[i].operations.size()) return false;
    return true;
  };
  // The operands of a gathered problem may be half overwritten, and all processes make the call together then.
  if (GatheredSolve::running() != nullptr && !all_done()) return Refusal::no_result;
  for (std::size_t i = 0; i < parts.size(); ++i) take_over(parts[i], devices, host, progress[i]);

  record.parts = static_cast<int>(parts.size());
  record.operands_kept = record.queues_at_once = true;
  double longest = 0;
  double waited = 0;
  for (const Progress& each : progress) {
    record.traffic += each.record.traffic;
    if (*record.policy == '\0') record.policy = each.record.policy;
    waited = std::max(waited, each.record.traffic.transfer_seconds);
    record.operands_kept = record.operands_kept && each.record.operands_kept;
    record.queues_at_once = record.queues_at_once && each.record.queues_at_once;
    longest = std::max(longest, each.seconds);
  }
  record.traffic.transfer_seconds = waited;  // the parts wait at once
  seconds = parts.front().context->device().own_time() ? longest : stopwatch.seconds();
  return Refusal::none;
}

}  // namespace blastoff::runtime
