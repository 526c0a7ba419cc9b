#include "report/earlier_run.h"

#include <algorithm>
#include <cmath>

namespace blastoff::report {

bool did_same_work(const EarlierRun& run, double flops) {
  constexpr double tolerance = 0.01;
  return run.flops > 0 && std::abs(flops - run.flops) <= tolerance * run.flops;
}

EarlierRun mean_with(const EarlierRun& known, const EarlierRun& latest) {
  constexpr std::uint32_t max_runs = 4;
  EarlierRun mean = latest;
  mean.runs = 1;
  if (!did_same_work(known, latest.flops)) return mean;
  const double weight = std::min(known.runs, max_runs - 1);
  mean.seconds = (weight * known.seconds + latest.seconds) / (weight + 1);
  mean.in_calls = (weight * known.in_calls + latest.in_calls) / (weight + 1);
  mean.runs = std::min(known.runs + 1, max_runs);
  return mean;
}

}  // namespace blastoff::report
