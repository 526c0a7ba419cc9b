// What whole runs of the same command took.
#pragma once

#include <cstdint>

namespace blastoff::report {

/// The mean over the latest of these runs, in seconds.
struct EarlierRun {
  double flops = 0;     ///< of the calls that were seen; RoutineTotals::own_flops()
  double seconds = 0;   ///< from the loading of the library to the end, without what Blastoff took for patching
  double in_calls = 0;  ///< part of them: wall time in calls
  std::uint32_t runs = 0;
};

/// Whether it did as much work as that.
bool did_same_work(const EarlierRun& run, double flops);

/// A run, as the mean with the latest ones that have done the same work. `known` does not count if its `runs` are 0.
EarlierRun mean_with(const EarlierRun& known, const EarlierRun& latest);

}  // namespace blastoff::report
