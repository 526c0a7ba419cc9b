// The time on the predicted machine: of one thread of the program, and of the engines of a GPU, which all threads and
// ranks share.
#pragma once

#include <algorithm>

namespace blastoff::prediction {

/// The time of the thread whose call is being replayed, in seconds.
struct Clock {
  double now = 0;
  void wait_until(double time) { now = std::max(now, time); }
};

/// When each engine is free again, in seconds.
struct Engines {
  double to_device = 0;
  double compute = 0;
  double from_device = 0;
  double computed = 0;  ///< seconds of computing of all calls so far
};

}  // namespace blastoff::prediction
