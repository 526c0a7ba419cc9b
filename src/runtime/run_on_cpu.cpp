#include "runtime/large_call.h"

#include <algorithm>
#include <cstdint>
#include <optional>

#include "platform/own_arithmetic.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/call_sites.h"
#include "report/decisions.h"
#include "report/recorder.h"
#include "report/timeline.h"
#include "runtime/intercepted_call.h"
#include "runtime/process.h"
#include "runtime/settled_calls.h"

namespace blastoff::runtime {

namespace {

using operation::Operation;
using report::Refusal;

// What else ran while the CPU made a call.
struct Beside {
  bool opening = false;  // Blastoff's threads
  bool device = false;   // see decide::Observation::beside_device

  bool anything() const { return opening || device; }
};

// Sets the wall time of a call that the CPU has made in `made` seconds. Without Blastoff it would have taken no longer,
// unless it was faster beside a device. `usual`: seconds that such calls take on the CPU alone; 0: unknown.
void time_on_cpu(report::Record& record, const report::CallTime& time, std::optional<double> own_seconds, double made,
                 double usual, const Beside& beside) {
  record.wall_seconds = own_seconds ? time.share * *own_seconds : time.wall;
  record.known_cpu_seconds = record.wall_seconds;
  record.share = time.share;
  record.inside = time.inside;
  if (own_seconds) return;
  const double ours = time.elapsed - made + time.recording_inside;
  record.known_cpu_seconds = std::max(0.0, time.wall - time.share * ours);
  if (usual <= 0 || !time.whole) return;
  if (beside.device)
    record.known_cpu_seconds = time.share * usual;
  else if (beside.opening)
    record.known_cpu_seconds = std::min(record.known_cpu_seconds, time.share * usual);
}

// Whether the next calls like one that stayed on the CPU for this reason may stay there unjudged, too. While a device
// is open, a product with a vector runs where its matrix is, so each is judged.
bool may_be_settled(Refusal refusal, Process& process) {
  return refusal == Refusal::cpu_faster || (refusal == Refusal::not_there && process.devices_in_use() == nullptr);
}

// To be called after a call that stayed on the CPU: may settle the next calls like it. Settles none if each call has to
// be timed.
void settle(std::uint64_t likeness, const Operation& operation, const report::Record& record) {
  Process& process = Process::instance();
  if (!may_be_settled(record.refusal, process)) return;
  const bool each_is_timed = report::explains_decisions() || process.traces() || process.has_own_clock() ||
                             report::belongs_to_timeline(record.seconds);
  if (likeness == 0 || each_is_timed) return;
  const std::uint32_t calls = process.decider().settled_calls(operation);
  const double usual = process.decider().measured_cpu_seconds(operation);
  if (calls == 0 || usual <= 0 || record.seconds <= 0) return;
  // The usual time is taken, since the latest call may have been interrupted. That call is judged and recorded already.
  // For a product with a vector, only the shortest time is known. So the latest is taken, unless it is much longer.
  constexpr double much = 10;
  const bool as_latest = operation.work.memory_bound && record.seconds < much * usual;
  report::Record typical = record;
  typical.seconds = as_latest ? record.seconds : usual;
  typical.wall_seconds = std::min(record.wall_seconds, record.known_cpu_seconds) * typical.seconds / record.seconds;
  settle_calls(likeness, calls, typical);
}

// Where the stack was when this thread began a call for which its rank must agree with others
// (Process::must_agree_with_ranks); nullptr: it makes none. Calls inside such a call have their frames below, and must
// not run on the device either: of several right results, rounding errors decide which one the call finds.
[[gnu::tls_model("initial-exec")]] constinit thread_local const void* agreeing_call = nullptr;

// What holds when the original begins.
struct Before {
  bool observed;     // the decision learns from the call
  bool opens_later;  // the device is not open yet
  Beside beside{};
  double usual = 0;  // seconds that such calls take on the CPU alone, if something runs beside it; 0: unknown
  SpentOnCpu spent = OpenPolicy::added_by_this_thread();
};

Before before_original(const LargeCall& call) {
  Process& process = Process::instance();
  Before before{.observed = call.judged && call.record.refusal != Refusal::switched_off,
                .opens_later = call.record.refusal == Refusal::not_open};
  if (!before.observed) return before;
  process.leave_to_cpu(call.operation);
  before.beside = {.opening = process.opener().opens_beside(), .device = process.opener().is_open_among_ranks()};
  if (before.beside.anything()) before.usual = process.decider().seconds_on_cpu_alone(call.operation);
  return before;
}

// Teaches the decisions what the original took. `stands_for`: how many calls this one stands for.
void learn(const LargeCall& call, const Before& before, const report::CallTime& time, double on_cpu,
           std::uint32_t stands_for) {
  Process& process = Process::instance();
  if (before.observed)
    process.decider().observe(call.operation,
                              {.typical = !before.beside.opening,
                               .beside_device = before.beside.device,
                               .seconds = process.has_own_clock() ? on_cpu : std::max(0.0, on_cpu - time.ours_inside),
                               .calls = stands_for});
  if (before.opens_later)
    process.open_policy().add_spent({.seconds = time.share * on_cpu,
                                     .flops = call.operation.work.flops,
                                     .on_device = process.models().own_share().device_seconds_of(call.operation)},
                                    before.spent);
}

// Counts and prints the call. `made`: seconds of the original with the lines that --log printed inside it.
void put_on_record(LargeCall& call, const report::CallTime& time, double seconds, double made) {
  if (report::belongs_to_timeline(seconds)) {
    // An entry of the timeline allocates memory; a handler in the middle may allocate, too.
    platform::undisturbed([&] { count(call, seconds); });
  } else {
    count(call, seconds);
    report::add_ours(time.elapsed - made);
    report::recorded_since(time.ended);
  }
  report::log_call(call.record, call.understood ? &call.operation : nullptr);
}

// `elapsed`: as `made` in put_on_record(), without those lines.
void after_original(LargeCall& call, const Before& before, const report::CallTime& time, double made, double elapsed) {
  Process& process = Process::instance();
  const intercept::InterceptedCall& intercepted = call.intercepted;
  const intercept::Parsed* const parsed = call.parsed;
  // If the device has a clock of its own, it gives the CPU's seconds, too.
  const bool own_clock = process.has_own_clock();
  const double flops = parsed && parsed->valid && !parsed->trivial ? parsed->flops : 0;
  const double on_cpu = process.seconds_on_cpu(flops, elapsed);
  const double whole = process.seconds_on_cpu(flops, call.stopwatch.seconds());
  const double seconds = call.stopwatch.own(whole);
  if (own_clock) call.stopwatch.took(seconds + call.stopwatch.inside());
  const std::uint64_t likeness = before.observed ? likeness_of(intercepted, parsed) : 0;
  const SettledCall settled = likeness != 0 ? end_settled_calls(likeness) : SettledCall{};
  learn(call, before, time, on_cpu, 1 + settled.made());
  time_on_cpu(call.record, time, own_clock ? std::optional(seconds) : std::nullopt, made, before.usual, before.beside);
  put_on_record(call, time, seconds, made);
  if (before.observed) explain(call);
  if (settled.made() > 0)
    report::add_to_call_site(intercepted.caller, intercepted.routine_id(), settled.refusal,
                             {settled.made(), seconds, call.operation.work.flops, call.operation.work.volume});
  settle(likeness, call.operation, call.record);
}

}  // namespace

bool inside_agreeing_call(const void* frame) {
  if (agreeing_call <= frame) agreeing_call = nullptr;  // it is over: the program has left it by a jump
  return agreeing_call != nullptr;
}

void run_on_cpu(LargeCall& call) {
  const Before before = before_original(call);
  const void* const agreeing = agreeing_call;
  if (call.understood && Process::instance().must_agree_with_ranks(call.operation)) agreeing_call = call.begin.frame;
  const CallStopwatch original;
  run_original(call.intercepted);
  const double made = original.with_lines();
  const platform::OwnArithmetic ours;
  agreeing_call = agreeing;
  const double elapsed = original.without_lines(made);
  const report::CallTime time = report::end_call(call.begin);
  call.traced.end(original.own(elapsed), elapsed);
  after_original(call, before, time, made, elapsed);
  ours.end();
}

}  // namespace blastoff::runtime
