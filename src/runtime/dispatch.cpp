#include "intercept/dispatch.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <unistd.h>

#include "abi/reentry.h"
#include "platform/ample_stack.h"
#include "platform/contained.h"
#include "platform/log.h"
#include "platform/own_arithmetic.h"
#include "platform/process.h"
#include "platform/rounding.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/call_sites.h"
#include "report/counter_file.h"
#include "report/decisions.h"
#include "report/recorder.h"
#include "report/timeline.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/callers_environment.h"
#include "runtime/decision_record.h"
#include "runtime/distributed_call.h"
#include "runtime/gathered_solve.h"
#include "runtime/process.h"
#include "runtime/settled_calls.h"
#include "runtime/traced_call.h"
#include "runtime/vectors.h"
#include "runtime/verified_run.h"

namespace blastoff::runtime {

namespace {

using intercept::EntryPoint;
using intercept::InterceptedCall;
using intercept::Parsed;
using operation::Operation;
using report::Refusal;

[[noreturn]] void end_without_original(const EntryPoint& entry) {
  platform::log_line("%s: this call has to run on the CPU, but no library that defines it is loaded; the process ends",
                     entry.symbol);
  // The dynamic loader ends a program that misses a symbol with this status.
  _exit(127);
}

void run_original(const InterceptedCall& intercepted) {
  if (!intercepted.original.function) end_without_original(intercepted.entry);
  if (intercepted.composed) return intercepted.raw(intercepted.original.function);
  abi::run_as_original([&] { intercepted.raw(intercepted.original.function); });
}

// An exception has ended our work on a call that may still be made.
Refusal out_of_memory() {
  platform::say_out_of_memory();
  return Refusal::no_host_memory;
}

// Also of sizes of 0.
Operation operation_of(const Parsed& parsed) {
  const platform::OwnArithmetic ours;
  const Operation operation = parsed.make_operation();
  ours.end();
  return operation;
}

Refusal judge(const Operation& operation, decide::PredictedSeconds& predicted) {
  Process& process = Process::instance();
  if (!process.models().sought()) {
    platform::undisturbed([&] {
      const CallersEnvironment environment;
      process.models().seek();
    });
  }
  const bool small = operation.work.volume < process.decider().floor_volume();
  if (!small && process.must_agree_with_ranks(operation)) return Refusal::several_results;
  Refusal refusal{};
  if (!platform::contained([&] {
        refusal = process.decider().judge(operation, process, report::explains_decisions() ? &predicted : nullptr);
      }))
    return out_of_memory();
  return refusal;
}

// For --explain: describes a judged call that is over.
void explain(const Operation& operation, const report::Record& record, const decide::PredictedSeconds& predicted) {
  if (!report::explains_decisions()) return;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    report::add_decision(
        operation, record.refusal,
        {predicted.cpu_seconds, predicted.device_seconds, predicted.bringing_seconds, predicted.missing_bytes},
        record.seconds, record.traffic.bytes_left);
  });
}

// Chooses where the call runs, and opens the device if it is time.
Placement place_for_call(const Operation& operation, report::Record& record) {
  const CallersEnvironment environment;
  return Process::instance().place(operation, record.refusal);
}

// `operation` is nullptr where the arguments were not understood.
void count(const InterceptedCall& intercepted, const Operation* operation, report::Record& record, double seconds) {
  record.seconds = seconds;
  record.routine = intercepted.routine_id();
  record.symbol = intercepted.entry.symbol;
  record.caller = intercepted.caller;
  if (operation) {
    record.flops = operation->work.flops;
    record.volume = operation->work.volume;
  }
  platform::contained([&] { report::add(record); });
}

// Sets the wall time of a call on the device, with the page faults that it has caused since the call before.
void time_on_device(report::Record& record, const report::CallTime& time, std::optional<double> own_seconds,
                    double cpu_seconds) {
  record.wall_seconds =
      own_seconds ? time.share * *own_seconds : time.wall + time.share * seconds_of_page_faults(record);
  record.known_cpu_seconds = time.share * cpu_seconds;
  record.share = time.share;
}

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
  if (own_seconds) return;
  const double ours = time.elapsed - made + time.recording_inside;
  record.known_cpu_seconds = std::max(0.0, time.wall - time.share * ours);
  if (usual <= 0 || !time.whole) return;
  if (beside.device)
    record.known_cpu_seconds = time.share * usual;
  else if (beside.opening)
    record.known_cpu_seconds = std::min(record.known_cpu_seconds, time.share * usual);
}

// Makes the call where it was placed. If that refuses, record.refusal says why.
void run_on(Placement& placement, const InterceptedCall& intercepted, const Operation& operation,
            report::Record& record, TracedCall& traced, const report::CallBegin& begin, CallStopwatch& stopwatch,
            bool& done) {
  Process& process = Process::instance();
  std::string places;
  record.places = report::logs_calls() || traced.is_recorded() ? &places : nullptr;
  stopwatch.restart();
  double seconds = 0;
  double measured = 0;
  {
    const CallersEnvironment environment;
    const bool ended =
        platform::run_with_ample_stack([&] { run_verified(intercepted, operation, placement, record, seconds, done); });
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
  const report::CallTime time = report::end_call(begin);
  time_on_device(record, time, own_clock ? std::optional(seconds) : std::nullopt, measured);
  count(intercepted, &operation, record, own_clock ? seconds : stopwatch.seconds());
  report::recorded_since(time.ended);
  report::log_call(record, &operation);
  record.places = nullptr;
  traced.set_places(std::move(places));
}

// Makes the call on a device. If there is none, or it refuses, record.refusal says why. A lost device leaves the
// operands as they were, and another one, if there is one, makes the call, unless it is a gathered one. Signals are
// blocked: a handler in the middle would meet the locks of this call, and a handler that never returns would leave them
// taken for ever.
[[gnu::noinline]] void run_undisturbed(const InterceptedCall& intercepted, const Operation& operation,
                                       report::Record& record, TracedCall& traced, const report::CallBegin& begin,
                                       CallStopwatch& stopwatch, bool& done) {
  for (;;) {
    Placement placement = place_for_call(operation, record);
    if (!placement.context) return;
    run_on(placement, intercepted, operation, record, traced, begin, stopwatch, done);
    if (done) return;
    const bool lost = !placement.context->working() ||
                      std::ranges::any_of(placement.parts, [](const Part& part) { return !part.context->working(); });
    if (!lost || GatheredSolve::running() != nullptr) return;
  }
}

// A number that alike calls share; 0 if no other call is known to be like this one.
std::uint64_t likeness_of(const InterceptedCall& intercepted, const Parsed* parsed) {
  if (parsed == nullptr || parsed->likeness == nullptr || parsed->trivial || !intercepted.original.function) return 0;
  return GatheredSolve::running() == nullptr ? parsed->likeness(parsed->call) + intercepted.routine_id() : 0;
}

// Makes the call without judgement if it is settled: the CPU is known to be as fast.
bool made_as_settled(const InterceptedCall& intercepted, const Parsed& parsed) {
  const std::uint64_t likeness = likeness_of(intercepted, &parsed);
  const SettledCall* const known = likeness != 0 ? take_settled_call(likeness) : nullptr;
  if (known == nullptr) return false;
  const report::UntimedCall call{.routine = intercepted.routine_id(),
                                 .refusal = Refusal::cpu_faster,
                                 .seconds = static_cast<double>(known->seconds),
                                 .wall_seconds = static_cast<double>(known->wall_seconds),
                                 .flops = parsed.flops,
                                 .size_class = known->size_class};
  run_original(intercepted);
  report::add_untimed(call);
  if (!report::logs_calls()) return true;
  const Operation operation = parsed.supported ? operation_of(parsed) : Operation();
  report::log_call({.symbol = intercepted.entry.symbol, .refusal = call.refusal, .seconds = call.seconds},
                   parsed.supported ? &operation : nullptr);
  return true;
}

// To be called after a call that the CPU has made because it was as fast: may settle the next calls like it. Settles
// none if each call has to be timed.
void settle(std::uint64_t likeness, const Operation& operation, const report::Record& record) {
  Process& process = Process::instance();
  const bool each_is_timed = report::explains_decisions() || process.traces() || process.has_own_clock() ||
                             report::belongs_to_timeline(record.seconds);
  if (likeness == 0 || each_is_timed) return;
  const std::uint32_t calls = process.decider().settled_calls(operation);
  const double usual = process.decider().measured_cpu_seconds(operation);
  if (calls == 0 || usual <= 0 || record.seconds <= 0) return;
  // The usual time is taken, since the latest call may have been interrupted. That call is judged and recorded already.
  report::Record typical = record;
  typical.wall_seconds = std::min(record.wall_seconds, record.known_cpu_seconds) * usual / record.seconds;
  typical.seconds = usual;
  settle_calls(likeness, calls, typical);
}

// Where the stack was when this thread began a call for which its rank must agree with others
// (Process::must_agree_with_ranks); 0: it makes none. Calls inside such a call have their frames below, and must not
// run on the device either: of several right results, rounding errors decide which one the call finds.
[[gnu::tls_model("initial-exec")]] constinit thread_local std::uintptr_t agreeing_call = 0;

bool inside_agreeing_call(std::uintptr_t frame) {
  if (agreeing_call <= frame) agreeing_call = 0;  // it is over: the program has left it by a jump
  return agreeing_call != 0;
}

// Why the call stays on the CPU, as far as that is known before a device is asked.
Refusal refusal_of(const InterceptedCall& intercepted, const Parsed* parsed, const Operation& operation,
                   std::uintptr_t frame, decide::PredictedSeconds& predicted) {
  if (!parsed || !parsed->valid) return Refusal::invalid_arguments;
  if (parsed->trivial) return Refusal::trivial;
  if (!parsed->supported) return Refusal::unsupported;
  if (!platform::rounds_to_nearest()) return Refusal::rounding;
  if (Process::is_switched_off()) return Refusal::switched_off;
  if (GatheredSolve::running() != nullptr) return Refusal::none;  // the gathered problem has been judged already
  if (!Process::instance().offloads(intercepted.routine_id())) return Refusal::left_out;
  return inside_agreeing_call(frame) ? Refusal::several_results : judge(operation, predicted);
}

// Makes calls that are not small: the full path.
void dispatch_large(const InterceptedCall& intercepted, const Parsed* parsed) {
  if (!intercepted.original.function && platform::has_elevated_rights()) end_without_original(intercepted.entry);
  // The process also says where this call is counted.
  if (Process::try_instance() == nullptr) return run_original(intercepted);
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  report::Record record;
  decide::PredictedSeconds predicted;
  const bool understood = parsed && parsed->supported;
  const Operation operation = understood ? operation_of(*parsed) : Operation();
  GatheredSolve* const gathered = GatheredSolve::running();
  if (parsed && parsed->valid && !understood) {
    record.flops = parsed->flops;
    record.volume = parsed->volume;
  }
  const platform::OwnArithmetic before_call;
  record.refusal = refusal_of(intercepted, parsed, operation, frame, predicted);
  before_call.end();
  const bool judged = understood && parsed->valid && !parsed->trivial && gathered == nullptr;
  TracedCall traced(operation, intercepted.caller, judged && record.refusal != Refusal::below_min_size);
  if (record.refusal == Refusal::none) record.refusal = Process::instance().refusal();
  CallStopwatch stopwatch;
  bool done = false;
  if (record.refusal == Refusal::none)
    if (!platform::undisturbed(
            [&] { run_undisturbed(intercepted, operation, record, traced, begin, stopwatch, done); }) &&
        !done)
      record.refusal = out_of_memory();
  if (done) {
    traced.end(std::nullopt, stopwatch.seconds());
    return explain(operation, record, predicted);
  }
  if (gathered != nullptr) {
    report::end_call(begin);
    return gathered->refuse(record.refusal);
  }
  const bool observed = judged && record.refusal != Refusal::switched_off;
  const bool opens_later = record.refusal == Refusal::not_open;
  if (observed) Process::instance().leave_to_cpu(operation);
  Beside beside;
  if (observed) {
    const Opener& opener = Process::instance().opener();
    beside = {.opening = opener.opens_beside(), .device = opener.is_open_among_ranks()};
  }
  const double usual = beside.anything() ? Process::instance().decider().seconds_on_cpu_alone(operation) : 0;
  const SpentOnCpu spent_before = OpenPolicy::added_by_this_thread();
  const std::uintptr_t agreeing = agreeing_call;
  if (understood && Process::instance().must_agree_with_ranks(operation)) agreeing_call = frame;
  const CallStopwatch original;
  run_original(intercepted);
  const double made = original.with_lines();
  const platform::OwnArithmetic after_call;
  agreeing_call = agreeing;
  const double elapsed = original.without_lines(made);
  const report::CallTime time = report::end_call(begin);
  traced.end(original.own(elapsed), elapsed);
  // If the device has a clock of its own, it gives the CPU's seconds, too.
  Process& process = Process::instance();
  const double flops = parsed && parsed->valid && !parsed->trivial ? parsed->flops : 0;
  const double on_cpu = process.seconds_on_cpu(flops, elapsed);
  const double whole = process.seconds_on_cpu(flops, stopwatch.seconds());
  const double seconds = stopwatch.own(whole);
  if (process.has_own_clock()) stopwatch.took(seconds + stopwatch.inside());
  const double without_us = process.has_own_clock() ? on_cpu : std::max(0.0, on_cpu - time.ours_inside);
  const std::uint64_t likeness = observed ? likeness_of(intercepted, parsed) : 0;
  const std::uint32_t stands_for = likeness != 0 ? end_settled_calls(likeness) : 1;
  if (observed)
    process.decider().observe(
        operation,
        {.typical = !beside.opening, .beside_device = beside.device, .seconds = without_us, .calls = stands_for});
  if (opens_later)
    process.open_policy().add_spent({.seconds = on_cpu,
                                     .flops = operation.work.flops,
                                     .on_device = process.models().own_share().device_seconds_of(operation)},
                                    spent_before);
  time_on_cpu(record, time, process.has_own_clock() ? std::optional(seconds) : std::nullopt, made, usual, beside);
  const Operation* const counted = understood ? &operation : nullptr;
  if (report::belongs_to_timeline(seconds)) {
    // An entry of the timeline allocates memory; a handler in the middle may allocate, too.
    platform::undisturbed([&] { count(intercepted, counted, record, seconds); });
  } else {
    count(intercepted, counted, record, seconds);
    report::add_ours(time.elapsed - made);
    report::recorded_since(time.ended);
  }
  report::log_call(record, counted);
  if (observed) explain(operation, record, predicted);
  if (stands_for > 1)
    report::add_to_call_site(intercepted.caller, intercepted.routine_id(), Refusal::cpu_faster,
                             {stands_for - 1, seconds, operation.work.flops, operation.work.volume});
  if (record.refusal == Refusal::cpu_faster) settle(likeness, operation, record);
  after_call.end();
}

// A small call that is followed (--log, or a device's own clock). dispatch_if_small() leaves it to dispatch(), which
// knows its arguments.
struct FollowedCall {
  const InterceptedCall* intercepted = nullptr;
  double volume = 0;
  double flops = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local FollowedCall followed_call{};

void leave_to_dispatch(const InterceptedCall& intercepted, double volume, double flops) {
  if (volume < followed_floor_volume.load(std::memory_order_relaxed) && intercepted.original.function)
    followed_call = {&intercepted, volume, flops};
}

// Makes a followed call as the short path does, which looks at nothing but sizes.
void make_followed(const InterceptedCall& intercepted, const Parsed* parsed) {
  const auto [_, volume, flops] = std::exchange(followed_call, {});
  Process& process = Process::instance();
  const bool computes = parsed != nullptr && parsed->valid && !parsed->trivial;
  const CallStopwatch stopwatch;
  const report::SmallCall small = report::begin_small(volume, process.has_own_clock());
  run_original(intercepted);
  const double elapsed = process.seconds_on_cpu(computes ? flops : 0, stopwatch.seconds());
  report::Record record;
  record.symbol = intercepted.entry.symbol;
  record.refusal = Refusal::below_min_size;
  record.seconds = stopwatch.own(elapsed);
  if (process.has_own_clock()) stopwatch.took(record.seconds + stopwatch.inside());
  report::end_small(intercepted.routine_id(), intercepted.caller, small, flops, elapsed);
  if (!report::logs_calls()) return;
  const bool understood = parsed != nullptr && parsed->supported;
  const Operation operation = understood ? operation_of(*parsed) : Operation();
  report::log_call(record, understood ? &operation : nullptr);
}

}  // namespace

}  // namespace blastoff::runtime

namespace blastoff {

bool intercept::counted_as_small(operation::RoutineId routine, double volume, double flops) {
  return volume < runtime::floor_volume.load(std::memory_order_relaxed) &&
         report::count_untimed_small(routine, volume, flops);
}

bool intercept::dispatch_if_small(const InterceptedCall& intercepted, double volume, double flops) {
  using namespace runtime;
  // Minus infinity until the settings have been read: then no call is known to be small. (A comparison with
  // not-a-number would raise the invalid flag in the program.)
  if (!(volume < floor_volume.load(std::memory_order_relaxed)) || !intercepted.original.function) {
    leave_to_dispatch(intercepted, volume, flops);
    return false;
  }
  const report::SmallCall small = report::begin_small(volume);
  run_original(intercepted);
  report::end_small(intercepted.routine_id(), intercepted.caller, small, flops);
  return true;
}

void intercept::dispatch(const InterceptedCall& intercepted, const Parsed* parsed) {
  using namespace runtime;
  if (parsed && parsed->valid && dispatch_if_small(intercepted, parsed->volume, parsed->flops)) return;
  if (followed_call.intercepted == &intercepted) return make_followed(intercepted, parsed);
  if (parsed && parsed->valid && made_as_settled(intercepted, *parsed)) return;
  dispatch_large(intercepted, parsed);
}

bool intercept::make_where_left(const VectorsCalled& called) {
  return runtime::make_vectors_there(called);
}

void intercept::dispatch_distributed(const InterceptedCall& intercepted, const scalapack::Call& call) {
  runtime::make_distributed(intercepted, call);
}

}  // namespace blastoff
