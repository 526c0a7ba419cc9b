// A clock of the simulated device's own. It shows what copies and operations would take on a machine of given rates, so
// decisions can be tried without a GPU and without real time.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>

#include "device/error.h"

namespace blastoff::device::simulated {

struct Rates {
  double link = 25e9;     ///< bytes per second, in each direction
  double device = 10e12;  ///< operations per second
  double cpu = 500e9;     ///< operations per second of the program's own library
  double launch = 20e-6;  ///< seconds that every operation takes besides
  double start = 0.5;     ///< seconds that opening the device takes

  double copy_seconds(double bytes) const { return bytes / link; }
  double device_seconds(double flops) const { return launch + flops / device; }
  double cpu_seconds(double flops) const { return flops / cpu; }
};

/// `text`: "" for real time, or "NAME=NUMBER,..." with the names of Rates: "link=50e9,cpu=1e11". "default" gives the
/// rates above.
Result<std::optional<Rates>> parse_rates(const std::string& text);

/// The sum of all times, since nothing overlaps. Thread-safe.
class Clock {
 public:
  explicit Clock(const Rates& rates) : rates_(rates) {}

  const Rates& rates() const { return rates_; }
  double seconds() const { return seconds_.load(std::memory_order_relaxed); }
  double copying() const { return copying_.load(std::memory_order_relaxed); }
  void advance(double seconds) { seconds_.fetch_add(seconds, std::memory_order_relaxed); }
  void count_copy(double bytes) {
    const double seconds = rates_.copy_seconds(bytes);
    copying_.fetch_add(seconds, std::memory_order_relaxed);
    advance(seconds);
  }

 private:
  const Rates rates_;
  std::atomic<double> seconds_{0};
  std::atomic<double> copying_{0};
};

}  // namespace blastoff::device::simulated
