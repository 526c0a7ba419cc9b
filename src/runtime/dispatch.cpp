#include "intercept/dispatch.h"

#include <cstdint>
#include <utility>

#include "platform/confinement.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/distributed_call.h"
#include "runtime/intercepted_call.h"
#include "runtime/large_call.h"
#include "runtime/process.h"
#include "runtime/settled_calls.h"
#include "runtime/vectors.h"

namespace blastoff::runtime {

namespace {

using intercept::InterceptedCall;
using intercept::Parsed;
using operation::Operation;
using report::Refusal;

// Makes the call without judgement if it is settled that it stays on the CPU.
bool made_as_settled(const InterceptedCall& intercepted, const Parsed& parsed) {
  const std::uint64_t likeness = likeness_of(intercepted, &parsed);
  const SettledCall* const known = likeness != 0 ? take_settled_call(likeness) : nullptr;
  if (known == nullptr) return false;
  const report::UntimedCall call{.routine = intercepted.routine_id(),
                                 .refusal = known->refusal,
                                 .seconds = parsed.volume * static_cast<double>(known->seconds_per_volume),
                                 .wall_seconds = parsed.volume * static_cast<double>(known->wall_seconds_per_volume),
                                 .flops = parsed.flops,
                                 .size_class = report::size_class(parsed.volume)};
  run_original(intercepted);
  report::add_untimed(call);
  if (!report::logs_calls()) return true;
  const Operation operation = parsed.supported ? operation_of(parsed) : Operation();
  report::log_call({.symbol = intercepted.entry.symbol, .refusal = call.refusal, .seconds = call.seconds},
                   parsed.supported ? &operation : nullptr);
  return true;
}

// Makes the call and counts it, without a look at the clock: where the strictest filter is in force, the kernel ends
// the process for that, too.
void make_confined(const InterceptedCall& intercepted, const Parsed* parsed) {
  run_original(intercepted);
  report::add_untimed({.routine = intercepted.routine_id(),
                       .refusal = Refusal::confined,
                       .flops = parsed ? parsed->flops : 0,
                       .size_class = report::size_class(parsed ? parsed->volume : 0)});
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
  if (platform::confined()) return make_confined(intercepted, parsed);
  if (followed_call.intercepted == &intercepted) return make_followed(intercepted, parsed);
  if (parsed && parsed->valid && made_as_settled(intercepted, *parsed)) return;
  make_large_call(intercepted, parsed);
}

bool intercept::make_where_left(const VectorsCalled& called) {
  return runtime::make_vectors_there(called);
}

void intercept::dispatch_distributed(const InterceptedCall& intercepted, const scalapack::Call& call) {
  runtime::make_distributed(intercepted, call);
}

}  // namespace blastoff
