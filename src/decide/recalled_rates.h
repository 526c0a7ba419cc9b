// How fast the CPU made the calls of an earlier run of the program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "decide/decider.h"

namespace blastoff::decide {

/// Takes no lock. Thread-safe.
class RecalledRates {
 public:
  /// To be called once. The rates are never freed, since another thread may read them.
  void recall(const std::vector<CpuRate>& rates) {
    auto* const sorted = new std::vector<CpuRate>(rates);
    std::ranges::sort(*sorted, {}, &CpuRate::key);
    rates_.store(sorted, std::memory_order_release);
  }

  /// Seconds per operation; 0: unknown.
  double of(std::uint64_t key) const {
    const std::vector<CpuRate>* const rates = rates_.load(std::memory_order_acquire);
    if (rates == nullptr) return 0;
    const auto found = std::ranges::lower_bound(*rates, key, {}, &CpuRate::key);
    return found != rates->end() && found->key == key ? found->seconds_per_flop : 0;
  }

  /// The mean with what `calls` calls of this run have taken. The earlier run counts as some calls: a few trials
  /// between calls on the device find threads asleep and pages that have to be faulted in. 0: there was neither.
  double mean_with(std::uint64_t key, double own, double calls) const {
    constexpr double calls_of_earlier_run = 16;
    const double earlier = of(key);
    if (calls <= 0) return earlier;
    return earlier > 0 ? (earlier * calls_of_earlier_run + own * calls) / (calls_of_earlier_run + calls) : own;
  }

 private:
  std::atomic<const std::vector<CpuRate>*> rates_{nullptr};  ///< sorted by key
};

}  // namespace blastoff::decide
