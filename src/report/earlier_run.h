// What earlier runs of the same command took that computed on the CPU alone.
#pragma once

#include <cstdint>

namespace blastoff::report {

/// The mean over the latest of these runs, in seconds.
struct EarlierRun {
  double flops = 0;     ///< of all calls that were seen
  double seconds = 0;   ///< from the loading of the library to the end, without what Blastoff took for patching
  double in_calls = 0;  ///< part of them: wall time in calls
  std::uint32_t runs = 0;
};

}  // namespace blastoff::report
