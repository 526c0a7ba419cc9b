#include "runtime/verified_run.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <string>

#include <unistd.h>

#include "platform/exit_status.h"
#include "platform/log.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "runtime/call_stopwatch.h"
#include "runtime/gathered_locks.h"
#include "runtime/gathered_solve.h"
#include "runtime/offload.h"
#include "runtime/process.h"
#include "runtime/segment_tracker.h"
#include "runtime/split.h"

namespace blastoff::runtime {

namespace {

using operation::Comparison;
using operation::Operation;
using report::Refusal;

void report_violation(const Operation& operation, const Comparison& comparison, std::uint64_t stale_pages) {
  const std::string what = std::string(operation.name()) + " " + operation.arguments();
  if (comparison.relative_error > comparison.bound)
    platform::log_line("verify: %s: relative error %.3g exceeds the bound %.3g at row %lld, column %lld", what.c_str(),
                       comparison.relative_error, comparison.bound, static_cast<long long>(comparison.row),
                       static_cast<long long>(comparison.column));
  if (stale_pages > 0)
    platform::log_line("verify: %s: %llu mirrored pages differed from host memory", what.c_str(),
                       static_cast<unsigned long long>(stale_pages));
}

// Runs the parts on their devices at once, if the CPU could make each part that fails.
Refusal run_by_devices(Placement& placement, const Operation& operation, const operation::Host& host,
                       report::Record& record, double& seconds) {
  DeviceSet& devices = *Process::instance().devices_in_use();
  const auto computable = [&](const Part& part) {
    return std::ranges::all_of(part.operations, [&](const Operation& each) { return host.can_compute(each); });
  };
  if (!std::ranges::all_of(placement.parts, computable)) devices.unsplit(placement, operation);
  std::optional<GatheredLocks> gathered;
  const GatheredSolve* const solve = GatheredSolve::running();
  if (solve != nullptr && solve->segment().bytes() > 0 && placement.context->pins() != nullptr)
    gathered.emplace(placement.context->device(), operation, solve->segment());
  const residency::PageLocks* const locks = gathered ? &*gathered : nullptr;
  if (solve != nullptr && !placement.parts.empty()) SegmentTracker::results_changed(operation);
  if (!placement.parts.empty())
    return offload_parts(placement.parts, devices.all(), host, devices.team(), record, seconds, locks);
  const DeviceStopwatch stopwatch(placement.context->device());
  const Refusal refusal = offload(*placement.context, operation, host, record, {.page_locks = locks});
  seconds = stopwatch.seconds_of(record);
  if (refusal == Refusal::none) placement.context->count(record, operation.work.flops, seconds);
  return refusal;
}

}  // namespace

// Chooses the same calls in each run if calls are sampled: by SplitMix64 (Steele, Lea, Flood 2014) of the call's
// number.
bool is_verified(const config::Verify& verify) {
  if (verify.mode != config::VerifyMode::sample) return verify.mode != config::VerifyMode::off;
  static std::atomic<std::uint64_t> calls{0};
  std::uint64_t bits = (calls.fetch_add(1, std::memory_order_relaxed) + 1) * 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return static_cast<double>((bits ^ (bits >> 31)) >> 11) * 0x1p-53 < verify.share;
}

void judge(const Operation& operation, const Comparison& comparison, report::Record& record) {
  record.verified = comparison.checked;
  record.relative_error = comparison.relative_error;
  record.violated = comparison.relative_error > comparison.bound || record.traffic.stale_pages > 0;
  if (record.violated) report_violation(operation, comparison, record.traffic.stale_pages);
  if (record.violated && Process::instance().settings().verify.mode == config::VerifyMode::abort) {
    report::add(record);
    report::log_call(record, &operation);
    Process::instance().end();
    _exit(platform::software_error);
  }
}

void run_verified(const intercept::InterceptedCall& intercepted, const Operation& operation, Placement& placement,
                  report::Record& record, double& seconds, bool& done) {
  const auto host = intercepted.host(intercepted);
  const config::Verify& verify = Process::instance().settings().verify;
  const auto run = [&] {
    record.refusal = run_by_devices(placement, operation, *host, record, seconds);
    done = record.refusal == Refusal::none;
  };
  if (!is_verified(verify)) return run();
  const bool sampled = verify.mode == config::VerifyMode::sample;
  const auto effort = sampled ? operation::Effort::quick : operation::Effort::full;
  const auto verification = intercepted.front_end.verification(operation, *host, effort);
  run();
  if (!done) return;
  judge(operation, verification->compare(), record);
}

}  // namespace blastoff::runtime
