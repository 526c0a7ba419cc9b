#include "report/recorder.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <ctime>
#include <limits>

#include "report/call_log.h"
#include "report/counter_file.h"
#include "report/decisions.h"
#include "report/thread_counters.h"

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
  counters.stale_pages.add(record.stale_pages);
  counters.violations.add(record.violated ? 1 : 0);
  if (!record.verified) return;
  counters.checked.add(1);
  const bool finite = std::isfinite(record.relative_error);
  counters.worst_relative_error.raise_to(finite ? record.relative_error : std::numeric_limits<double>::max());
}

}  // namespace

void add(const Record& record, const operation::Operation* operation) {
  ThreadCounters& counters = thread_counters();
  RoutineCounters& routine = counters.routines[static_cast<std::size_t>(record.routine)];
  const bool offloaded = record.refusal == Refusal::none;
  counters.recorded_seconds.add(record.seconds);
  routine.calls.add(1);
  routine.flops.add(record.flops);
  routine.transfer_seconds.add(record.transfer_seconds);
  routine.bytes_to_device.add(record.bytes_to_device);
  routine.bytes_from_device.add(record.bytes_from_device);
  routine.bytes_reused.add(record.bytes_reused);
  if (offloaded) {
    routine.offloaded.add(1);
    routine.device_seconds.add(record.seconds);
    routine.offloaded_flops.add(record.flops);
  } else {
    routine.cpu_seconds.add(record.seconds);
    counters.refusals[static_cast<std::size_t>(record.refusal)].add(1);
  }
  add_verification(counters.verification, record);
  if (logs_calls()) log_call(record, operation);
}

SmallCall begin_small(double volume) {
  ThreadCounters& counters = thread_counters();
  const bool always = volume >= timed_volume;
  if (!always && !counters.sampler.take()) return {};
  counters.largest_small_volume.raise_to(volume);
  return {always ? 1 : Sampler::mean_spacing, now_nanoseconds(), counters.recorded_seconds.get()};
}

void end_small(operation::RoutineId routine, const SmallCall& small, double flops) {
  ThreadCounters& counters = thread_counters();
  RoutineCounters& sums = counters.routines[static_cast<std::size_t>(routine)];
  sums.small_calls.add(1);
  sums.small_flops.add(flops);
  if (small.weight == 0) return;
  const auto elapsed = 1e-9 * static_cast<double>(now_nanoseconds() - small.start);
  const double seconds = own_seconds(elapsed, small.recorded_before) * small.weight;
  sums.small_seconds.add(seconds);
  counters.recorded_seconds.add(seconds);
}

double recorded_seconds() {
  return thread_counters().recorded_seconds.get();
}

double own_seconds(double elapsed, double recorded_before) {
  return std::max(0.0, elapsed - (recorded_seconds() - recorded_before));
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
  forget_decisions();
}

}  // namespace blastoff::report
