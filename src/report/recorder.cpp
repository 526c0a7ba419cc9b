#include "report/recorder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>

#include "platform/confinement.h"
#include "report/call_sites.h"
#include "report/counter_file.h"
#include "report/counter_layout.h"
#include "report/decisions.h"
#include "report/thread_counters.h"
#include "report/timeline.h"
#include "report/wall_time.h"

namespace blastoff::report {

namespace {

/// Reading the clock twice costs some 50 ns: 1 % of a real product of this volume on a fast core (100 GFLOP/s).
constexpr double timed_volume = 64.0 * 64.0 * 64.0;

std::uint64_t now_nanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(time.tv_nsec);
}

void add_verification(VerificationCounters& counters, const Record& record) {
  counters.stale_pages.add(record.traffic.stale_pages);
  counters.violations.add(record.violated ? 1 : 0);
  if (!record.verified) return;
  counters.checked.add(1);
  const bool finite = std::isfinite(record.relative_error);
  counters.worst_relative_error.raise_to(finite ? record.relative_error : std::numeric_limits<double>::max());
}

/// Returns the seconds of each call that a sample stands for beside itself. A sample that took much longer than the
/// routine usually does for so many operations was interrupted, and the other calls were not. (A process waits for a
/// processor for a millisecond or more, and most of these calls take some microseconds.)
double seconds_of_others(double sample, double operations, const RoutineCounters& routine) {
  constexpr double shortest_interruption = 1e-4;
  constexpr double much = 10;
  const double usual = routine.small_seconds.get() / std::max(routine.timed_flops.get(), 1.0) * operations;
  return usual > 0 && sample > std::max(shortest_interruption, much * usual) ? usual : sample;
}

/// Adds each counter of calls that is also a counter of the report, by its name.
template <class Counters>
void add_by_name(RoutineTotals& sums, const Counters& counters) {
#define BLASTOFF_ADD(name, ...) \
  if constexpr (requires { counters.name; }) sums.name += counters.name;
  BLASTOFF_ROUTINE_COUNTERS(BLASTOFF_ADD)
#undef BLASTOFF_ADD
}

}  // namespace

std::size_t size_class(double volume) {
  // A class is half a unit of log2(average size), which is log2(volume) / 3.
  const double steps = volume > 1 ? std::log2(volume) * (2.0 / 3.0) : 0.0;
  return std::min(static_cast<std::size_t>(steps), size_classes - 1);
}

double min_size(std::size_t size_class) {
  return std::exp2(0.5 * static_cast<double>(size_class));
}

void count_in(RoutineTotals& sums, const Record& record) {
  ++sums.calls;
  if (record.followed) ++sums.followed;
  const bool gathered = record.refusal == Refusal::gathered || record.refusal == Refusal::gathered_by_several;
  if (record.followed && gathered) sums.waited_seconds += record.seconds;
  sums.flops += record.flops;
  if (record.inside) sums.inner_flops += record.flops;
  add_by_name(sums, record.traffic);
  sums.wall_seconds += record.wall_seconds;
  if (record.known_cpu_seconds > 0) {
    sums.known_seconds += record.wall_seconds;
    sums.known_cpu_seconds += record.known_cpu_seconds;
  }
  if (record.refusal != Refusal::none) {
    sums.cpu_seconds += record.seconds;
    return;
  }
  ++sums.offloaded;
  if (record.parts > 1) ++sums.split;
  sums.device_seconds += record.seconds;
  sums.offloaded_flops += record.flops;
  if (record.cpu_seconds > 0) {
    sums.judged_seconds += record.seconds;
    sums.expected_cpu_seconds += record.cpu_seconds;
  }
  if (record.known_cpu_seconds <= 0) return;
  sums.known_flops += record.flops;
  if (record.wall_seconds <= record.known_cpu_seconds) return;
  ++sums.lost;
  sums.lost_seconds += record.wall_seconds - record.known_cpu_seconds;
}

void add(const Record& record) {
  ThreadCounters& counters = thread_counters();
  counters.recorded_seconds.add(record.seconds);
  if (record.known_cpu_seconds > 0) counters.known_cpu_seconds.add(record.known_cpu_seconds / record.share);
  counters.count_moment(record.seconds);
  RoutineTotals sums;
  count_in(sums, record);
  counters.routines[static_cast<std::size_t>(record.routine)].add(sums);
  if (record.refusal != Refusal::none) counters.refusals[static_cast<std::size_t>(record.refusal)].add(1);
  if (record.followed) counters.followed[static_cast<std::size_t>(record.refusal)].add(1);
  if (!record.followed) counters.sizes[size_class(record.volume)].add(sums);
  add_verification(counters.verification, record);
  add_to_call_site(record);
  if (belongs_to_timeline(record.seconds)) add_to_timeline(record);
}

void add_untimed(const UntimedCall& call) {
  ThreadCounters& counters = thread_counters();
  counters.recorded_seconds.add(call.seconds);
  counters.known_cpu_seconds.add(call.seconds);
  RoutineCounters& sums = counters.routines[static_cast<std::size_t>(call.routine)];
  sums.calls.add(1);
  sums.flops.add(call.flops);
  if (in_call()) sums.inner_flops.add(call.flops);
  sums.cpu_seconds.add(call.seconds);
  for (Counter<double>* const wall : {&sums.wall_seconds, &sums.known_seconds, &sums.known_cpu_seconds})
    wall->add(call.wall_seconds);
  count_inside(call.wall_seconds);
  counters.refusals[static_cast<std::size_t>(call.refusal)].add(1);
  SizeCounters& size = counters.sizes[call.size_class];
  size.calls.add(1);
  size.cpu_seconds.add(call.seconds);
}

SmallCall begin_small(double volume, bool always) {
  ThreadCounters& counters = thread_counters();
  always = always || volume >= timed_volume;
  if ((!always && !counters.sampler.take()) || platform::confined()) return {};
  counters.largest_small_volume.raise_to(volume);
  return {always ? 1 : Sampler::mean_spacing, volume, now_nanoseconds(), counters.recorded_seconds.get()};
}

bool count_untimed_small(operation::RoutineId routine, double volume, double flops) {
  ThreadCounters& counters = thread_counters();
  if (volume >= timed_volume || !counters.sampler.skip()) return false;
  counters.routines[static_cast<std::size_t>(routine)].count_small(flops);
  return true;
}

void end_small(operation::RoutineId routine, const void* caller, const SmallCall& small, double flops) {
  end_small(routine, caller, small, flops,
            small.weight == 0 ? 0 : 1e-9 * static_cast<double>(now_nanoseconds() - small.start));
}

void end_small(operation::RoutineId routine, const void* caller, const SmallCall& small, double flops, double elapsed) {
  ThreadCounters& counters = thread_counters();
  RoutineCounters& sums = counters.routines[static_cast<std::size_t>(routine)];
  sums.count_small(flops);
  if (small.weight == 0) return;
  const double sample = own_seconds(elapsed, small.recorded_before);
  const double seconds = sample + (small.weight - 1) * seconds_of_others(sample, flops, sums);
  sums.small_seconds.add(seconds);
  sums.timed_flops.add(small.weight * flops);
  counters.recorded_seconds.add(seconds);
  counters.count_moment(elapsed);
  RoutineTotals counted;
  counted.calls = small.weight;
  counted.cpu_seconds = seconds;
  counters.sizes[size_class(small.volume)].add(counted);
  add_to_call_site(caller, routine, Refusal::below_min_size,
                   {small.weight, seconds / small.weight, flops, small.volume});
}

double recorded_seconds() {
  return thread_counters().recorded_seconds.get();
}

double own_seconds(double elapsed, double recorded_before) {
  return std::max(0.0, elapsed - (recorded_seconds() - recorded_before));
}

double seconds_ahead() {
  return thread_counters().seconds_ahead.get();
}

void set_seconds_ahead(double seconds) {
  thread_counters().seconds_ahead.set(seconds);
}

double max_seconds_ahead() {
  double most = 0;
  bool any = false;
  for (const ThreadCounters* block = all_thread_counters(); block != nullptr; block = block->next) {
    const double ahead = block->seconds_ahead.get();
    if (ahead != 0) most = any ? std::max(most, ahead) : ahead;
    any = any || ahead != 0;
  }
  return most;
}

Totals totals() {
  Totals result;
  result.routines.resize(operation::routine_count());
  for (const ThreadCounters* block = all_thread_counters(); block != nullptr; block = block->next)
    block->add_to(result);
  return result;
}

void reset() {
  if (leave_counter_file()) leave_thread_counters();
  for (ThreadCounters* block = all_thread_counters(); block != nullptr; block = block->next) block->clear();
  forget_calls();
  forget_decisions();
  forget_call_sites();
  forget_timeline();
}

}  // namespace blastoff::report
