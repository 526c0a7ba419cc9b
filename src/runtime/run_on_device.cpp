#include "runtime/large_call.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "platform/ample_stack.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/counter_file.h"
#include "runtime/callers_environment.h"
#include "runtime/decision_record.h"
#include "runtime/gathered_solve.h"
#include "runtime/process.h"
#include "runtime/verified_run.h"

namespace blastoff::runtime {

namespace {

using operation::Operation;

// Chooses where the call runs, and opens the device if it is time.
Placement place_for_call(LargeCall& call) {
  const CallersEnvironment environment;
  return Process::instance().place(call.operation, call.record.refusal);
}

// Sets the wall time of a call on the device, with the page faults that it has caused since the call before.
void time_on_device(report::Record& record, const report::CallTime& time, std::optional<double> own_seconds,
                    double cpu_seconds) {
  record.wall_seconds =
      own_seconds ? time.share * *own_seconds : time.wall + time.share * seconds_of_page_faults(record);
  record.known_cpu_seconds = time.share * cpu_seconds;
  record.share = time.share;
  record.inside = time.inside;
}

// Makes the call where it was placed. If that refuses, record.refusal says why.
void run_on(Placement& placement, LargeCall& call, bool& done) {
  Process& process = Process::instance();
  const Operation& operation = call.operation;
  report::Record& record = call.record;
  CallStopwatch& stopwatch = call.stopwatch;
  std::string places;
  record.places = report::logs_calls() || call.traced.is_recorded() ? &places : nullptr;
  stopwatch.restart();
  double seconds = 0;
  double measured = 0;
  {
    const CallersEnvironment environment;
    const bool ended = platform::run_with_ample_stack(
        [&] { run_verified(call.intercepted, operation, placement, record, seconds, done); });
    if (!ended && !done) record.refusal = out_of_memory();
    if (done) {
      process.decider().observe(operation, observation_of(record, seconds));
      // A gathered problem would not have run on this CPU alone: all processes of the job would have solved it
      // together.
      const GatheredSolve* const gathered = GatheredSolve::running();
      if (!record.verified)
        record.cpu_seconds =
            gathered != nullptr ? gathered->together() : process.decider().cpu_seconds(operation, seconds);
      if (!record.verified && gathered == nullptr)
        measured = process.seconds_on_cpu(operation.work.flops, process.decider().seconds_on_cpu_alone(operation));
      report::memory_gauge().to_device += record.traffic.bytes_to_device;
      report::memory_gauge().from_device += record.traffic.bytes_from_device;
    }
    process.give_back(placement, operation);
  }
  if (!done) record.places = nullptr;
  // If the device has a clock of its own, reports give its seconds.
  if (!done) return;
  const bool own_clock = placement.context->device().own_time().has_value();
  if (own_clock) stopwatch.took(seconds);
  const report::CallTime time = report::end_call(call.begin);
  time_on_device(record, time, own_clock ? std::optional(seconds) : std::nullopt, measured);
  count(call, own_clock ? seconds : stopwatch.seconds());
  report::recorded_since(time.ended);
  report::log_call(record, &operation);
  record.places = nullptr;
  call.traced.set_places(std::move(places));
}

// Makes the call on a device. If there is none, or it refuses, record.refusal says why. A lost device leaves the
// operands as they were, and another one, if there is one, makes the call, unless it is a gathered one. Signals are
// blocked: a handler in the middle would meet the locks of this call, and a handler that never returns would leave them
// taken for ever.
[[gnu::noinline]] void run_undisturbed(LargeCall& call, bool& done) {
  for (;;) {
    Placement placement = place_for_call(call);
    if (!placement.context) return;
    run_on(placement, call, done);
    if (done) return;
    const bool lost = !placement.context->working() ||
                      std::ranges::any_of(placement.parts, [](const Part& part) { return !part.context->working(); });
    if (!lost || GatheredSolve::running() != nullptr) return;
  }
}

}  // namespace

bool run_on_device(LargeCall& call) {
  bool done = false;
  const bool ended = platform::undisturbed([&] { run_undisturbed(call, done); });
  if (!ended && !done) call.record.refusal = out_of_memory();
  if (!done) return false;
  call.traced.end(std::nullopt, call.stopwatch.seconds());
  explain(call);
  return true;
}

}  // namespace blastoff::runtime
