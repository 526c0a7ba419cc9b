// Measures wall time.
#pragma once

#include <chrono>

namespace blastoff::platform {

class Stopwatch {
 public:
  /// Seconds since it was made or last restarted.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  void restart() { start_ = Clock::now(); }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
};

}  // namespace blastoff::platform
