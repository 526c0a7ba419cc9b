// What time it is on a machine that is not there: one thread of the program, and the engines of a GPU that all threads
// and ranks share.
#pragma once

#include <algorithm>

namespace blastoff::prediction {

/// The thread whose call is being replayed. Seconds.
struct Clock {
  double now = 0;
  void wait_until(double time) { now = std::max(now, time); }
};

/// When each is free again. Seconds.
struct Engines {
  double to_device = 0;
  double compute = 0;
  double from_device = 0;
  double computed = 0;  ///< by all calls so far
};

}  // namespace blastoff::prediction
