// How long operations of a shape took on the CPU and on the device.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "decide/decider.h"

namespace blastoff::decide {

/// The first operations of a shape run on the CPU. The least of their times is compared with what the device would need
/// at least: the copies and a constant. Where that is less, a trial on the device follows. If its least time is less
/// too (the first uses of an array cost more than later ones), the operations stay there. Now and then their average
/// time is compared again. Where the CPU's was less there is a pause, which doubles after each failed trial, and is so
/// long that the trial took no more than a hundredth of the time. Takes no lock: see Decider::observe(). Thread-safe; a
/// race costs a measurement.
class MeasuredTimes {
 public:
  /// `bytes`: of all that is read and all that is written.
  Verdict judge(std::uint64_t shape, std::uint64_t bytes);
  void learn(std::uint64_t shape, bool on_device, double seconds);

  /// The least that the CPU took; 0: it was not timed.
  double cpu_seconds(std::uint64_t shape) const;

  /// Executions on the CPU that are timed before the first on the device.
  static constexpr int cpu_trial = 3;
  /// Executions on the device of one trial. The first of a trial is not counted: plans are made, memory is allocated.
  /// By the fifth, arrays that the program rewrites are known as such, and page-locked.
  static constexpr int device_trial = 6;
  static constexpr int longest_trial = 64;
  static constexpr std::int64_t first_pause = 64;
  static constexpr std::int64_t longest_pause = 4096;

 private:
  struct Times {
    std::atomic<std::uint64_t> shape{0};
    std::atomic<int> cpu_calls{0};
    std::atomic<int> device_calls{0};  ///< of this trial
    std::atomic<int> trial{device_trial};
    std::atomic<std::int64_t> calls_to_pause{0};
    std::atomic<std::int64_t> next_pause{first_pause};
    std::atomic<double> cpu_seconds{0};
    std::atomic<double> least_device_seconds{0};  ///< of this trial
    std::atomic<double> device_seconds{0};        ///< likewise, all together
  };

  /// nullptr where there are too many shapes: those stay on the CPU.
  Times* times_of(std::uint64_t shape);
  static void end_trial(Times& times);

  static constexpr std::size_t most_shapes = 512;
  static constexpr std::size_t probes = 16;
  std::array<Times, most_shapes> times_{};
};

}  // namespace blastoff::decide
