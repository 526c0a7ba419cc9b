// Times that operations of a shape have taken on the CPU and on the device.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "decide/decider.h"
#include "decide/link_rate.h"
#include "decide/recalled_rates.h"
#include "operation/operation.h"
#include "platform/backoff.h"

namespace blastoff::decide {

/// The first operations of a shape run on the CPU. The shortest of their times is compared with the least that the
/// device would need: the copies and a constant. If the device would need less, a trial on the device follows. If its
/// shortest time is also less than the CPU's (the first uses of an array cost more than later ones), the operations
/// stay on the device. Now and then their average time is compared again. When the CPU's time was less, the operations
/// return to the CPU for a pause (Backoff), which is so long that the trial took no more than a hundredth of the time.
/// Takes no lock: see Decider::observe(). Thread-safe; a race costs a measurement.
class MeasuredTimes {
 public:
  /// The link must outlive this.
  explicit MeasuredTimes(const LinkRate& link) : link_(link) {}

  /// `bytes`: of everything that is read and everything that is written.
  Refusal judge(std::uint64_t shape, std::uint64_t bytes);
  void learn(const operation::Operation& operation, const Observation& observation);

  /// The CPU's shortest time; 0: not timed.
  double cpu_seconds(std::uint64_t shape) const;

  /// See Decider. The mean time, without the first execution (the first use of an array takes longer).
  double seconds_on_cpu_alone(const operation::Operation& operation) const;
  std::vector<CpuRate> cpu_rates() const;
  void recall(const std::vector<CpuRate>& rates) { earlier_.recall(rates); }

  /// Timed executions on the CPU before the first one on the device.
  static constexpr int cpu_trial = 3;
  /// Executions in one trial on the device. The first one is not counted, because it makes plans and allocates memory.
  /// By the fifth, arrays that the program rewrites are known and page-locked.
  static constexpr int device_trial = 6;
  static constexpr int longest_trial = 64;

 private:
  struct Times {
    std::atomic<std::uint64_t> shape{0};
    std::atomic<int> cpu_calls{0};
    std::atomic<int> device_calls{0};  ///< in this trial
    std::atomic<int> trial{device_trial};
    platform::Backoff backoff;
    std::atomic<double> cpu_seconds{0};  ///< the shortest
    std::atomic<double> flops{0};        ///< of one execution
    /// On the CPU, if nothing disturbed it and no device was open beside it: their sum without the first one.
    std::atomic<double> alone_seconds{0};
    std::atomic<int> alone_calls{0};
    std::atomic<bool> beside_device{false};     ///< there were others on the CPU
    std::atomic<double> min_device_seconds{0};  ///< shortest in this trial
    std::atomic<double> device_seconds{0};      ///< sum over this trial
  };

  /// Returns nullptr if there are too many shapes: operations of the others stay on the CPU.
  Times* times_of(std::uint64_t shape);
  const Times* known_times_of(std::uint64_t shape) const;
  double rate_on_cpu_alone(const Times& times) const;
  static void end_trial(Times& times);

  const LinkRate& link_;
  RecalledRates earlier_;
  static constexpr std::size_t max_shapes = 512;
  static constexpr std::size_t probes = 16;
  std::array<Times, max_shapes> times_{};
};

}  // namespace blastoff::decide
