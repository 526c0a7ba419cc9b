#include "report/summary.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace blastoff::report {

RoutineTotals sum_over_routines(const Totals& totals) {
  RoutineTotals sum;
  for (const RoutineTotals& routine : totals.routines) sum += routine;
  return sum;
}

namespace {

/// Seconds that closing the device is expected to take after the report.
double closing_seconds(const Context& context) {
  return context.device_opening ? context.device_opening->closing : 0;
}

/// Upper bound of the wall time in calls.
double seconds_in_calls(const Totals& totals, const RoutineTotals& sums, const Context& context) {
  return std::min(context.elapsed_seconds, sums.wall_seconds + totals.small_seconds);
}

}  // namespace

EarlierRun whole_run(const Totals& totals, const Context& context) {
  const RoutineTotals sums = sum_over_routines(totals);
  const double seconds = context.elapsed_seconds - context.interception.seconds + closing_seconds(context);
  return {.flops = sums.own_flops(),
          .seconds = seconds,
          .in_calls = std::min(seconds, seconds_in_calls(totals, sums, context)),
          .runs = 1};
}

std::optional<double> saved_against(const EarlierRun& earlier, const Totals& totals, const Context& context) {
  constexpr double waits_of_ranks = 0.2;  // times the saving in calls
  const RoutineTotals sums = sum_over_routines(totals);
  if (!did_same_work(earlier, sums.own_flops())) return std::nullopt;
  const double closing = closing_seconds(context);
  const double now = seconds_in_calls(totals, sums, context);
  const double in_calls = earlier.in_calls - now;
  const double outside = earlier.seconds - earlier.in_calls - (context.elapsed_seconds + closing - now);
  const double most = context.rank < 0 ? 0 : waits_of_ranks * std::abs(in_calls);
  const double opening = context.device_opening ? context.device_opening->seconds : 0;
  return in_calls + std::clamp(outside, -(now + context.cost_seconds + opening + closing), most);
}

Verdict verdict(const Totals& totals, const RoutineTotals& sums, const Context& context) {
  constexpr double tolerance = 0.2;       // times `saved`
  constexpr double min_tolerance = 0.01;  // times the CPU's time
  const double known_share = sums.offloaded_flops > 0 ? sums.known_flops / sums.offloaded_flops : 0;
  if (context.cpu_run)
    if (const auto saved = saved_against(*context.cpu_run, totals, context))
      return {.saved = *saved, .cpu_run = context.cpu_run->seconds, .known_share = known_share};
  const double saved =
      totals.busiest_cpu_seconds - sums.known_seconds - context.cost_seconds - closing_seconds(context);
  const double difference = std::abs(totals.busiest_cpu_seconds - sums.known_cpu_seconds);
  return {.saved = saved,
          .alike = difference <= std::max(tolerance * std::abs(saved), min_tolerance * totals.busiest_cpu_seconds),
          .known_share = known_share};
}

double operand_reuse(const RoutineTotals& sums) {
  if (sums.bytes_read <= sums.bytes_reused) return 0;
  return static_cast<double>(sums.bytes_read) / static_cast<double>(sums.bytes_read - sums.bytes_reused);
}

}  // namespace blastoff::report
