#include "report/summary.h"

#include <algorithm>
#include <cmath>

namespace blastoff::report {

RoutineTotals sum_over_routines(const Totals& totals) {
  RoutineTotals sum;
  for (const RoutineTotals& routine : totals.routines) sum += routine;
  return sum;
}

Verdict verdict(const Totals& totals, const RoutineTotals& sums, double cost_seconds) {
  constexpr double tolerance = 0.2;       // times `saved`
  constexpr double min_tolerance = 0.01;  // times the CPU's time
  const double saved = totals.busiest_cpu_seconds - sums.known_seconds - cost_seconds;
  const double difference = std::abs(totals.busiest_cpu_seconds - sums.known_cpu_seconds);
  return {.saved = saved,
          .alike = difference <= std::max(tolerance * std::abs(saved), min_tolerance * totals.busiest_cpu_seconds),
          .known_share = sums.offloaded_flops > 0 ? sums.known_flops / sums.offloaded_flops : 0};
}

double operand_reuse(const RoutineTotals& sums) {
  if (sums.bytes_read <= sums.bytes_reused) return 0;
  return static_cast<double>(sums.bytes_read) / static_cast<double>(sums.bytes_read - sums.bytes_reused);
}

}  // namespace blastoff::report
