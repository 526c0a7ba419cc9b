#include "runtime/large_call.h"

#include "platform/contained.h"
#include "platform/own_arithmetic.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "report/decisions.h"
#include "report/recorder.h"
#include "runtime/callers_environment.h"
#include "runtime/gathered_solve.h"
#include "runtime/intercepted_call.h"
#include "runtime/process.h"

namespace blastoff::runtime {

namespace {

using intercept::InterceptedCall;
using intercept::Parsed;
using operation::Operation;
using report::Refusal;

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

// Why the call stays on the CPU, as far as that is known before a device is asked.
Refusal refusal_of(const InterceptedCall& intercepted, const Parsed* parsed, const Operation& operation,
                   const void* frame, decide::PredictedSeconds& predicted) {
  if (!parsed || !parsed->valid) return Refusal::invalid_arguments;
  if (parsed->trivial) return Refusal::trivial;
  if (!parsed->supported) return Refusal::unsupported;
  if (!platform::rounds_to_nearest()) return Refusal::rounding;
  if (Process::is_switched_off()) return Refusal::switched_off;
  if (GatheredSolve::running() != nullptr) return Refusal::none;  // the gathered problem has been judged already
  if (!Process::instance().offloads(intercepted.routine_id())) return Refusal::left_out;
  return inside_agreeing_call(frame) ? Refusal::several_results : judge(operation, predicted);
}

}  // namespace

void make_large_call(const InterceptedCall& intercepted, const Parsed* parsed) {
  if (!intercepted.original.function && platform::has_elevated_rights()) end_without_original(intercepted.entry);
  // The process also says where this call is counted.
  if (Process::try_instance() == nullptr) return run_original(intercepted);
  const void* const frame = __builtin_frame_address(0);
  const report::CallBegin begin = report::begin_call(frame);
  report::Record record;
  decide::PredictedSeconds predicted;
  const bool understood = parsed && parsed->supported;
  const Operation operation = understood ? operation_of(*parsed) : Operation();
  GatheredSolve* const gathered = GatheredSolve::running();
  if (parsed && parsed->valid && !understood) {
    record.flops = parsed->flops;
    record.volume = parsed->volume;
  }
  const platform::OwnArithmetic ours;
  record.refusal = refusal_of(intercepted, parsed, operation, frame, predicted);
  ours.end();
  const bool judged = understood && parsed->valid && !parsed->trivial && gathered == nullptr;
  LargeCall call{.intercepted = intercepted,
                 .parsed = parsed,
                 .operation = operation,
                 .understood = understood,
                 .judged = judged,
                 .begin = begin,
                 .record = record,
                 .predicted = predicted,
                 .traced{operation, intercepted.caller, judged && record.refusal != Refusal::below_min_size}};
  if (record.refusal == Refusal::none) record.refusal = Process::instance().refusal();
  if (record.refusal == Refusal::none && run_on_device(call)) return;
  if (gathered == nullptr) return run_on_cpu(call);
  report::end_call(begin);
  gathered->refuse(record.refusal);
}

void count(LargeCall& call, double seconds) {
  report::Record& record = call.record;
  record.seconds = seconds;
  record.routine = call.intercepted.routine_id();
  record.symbol = call.intercepted.entry.symbol;
  record.caller = call.intercepted.caller;
  if (call.understood) {
    record.flops = call.operation.work.flops;
    record.volume = call.operation.work.volume;
  }
  platform::contained([&] { report::add(record); });
}

void explain(const LargeCall& call) {
  if (!report::explains_decisions()) return;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    const decide::PredictedSeconds& predicted = call.predicted;
    report::add_decision(
        call.operation, call.record.refusal,
        {predicted.cpu_seconds, predicted.device_seconds, predicted.bringing_seconds, predicted.missing_bytes},
        call.record.seconds, call.record.traffic.bytes_left);
  });
}

report::Refusal out_of_memory() {
  platform::say_out_of_memory();
  return report::Refusal::no_host_memory;
}

}  // namespace blastoff::runtime
