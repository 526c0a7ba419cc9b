// How long operations take on the CPU and on the device, predicted from earlier ones of the same class.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "decide/decider.h"
#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// A class is a routine with about the same amount of work and of data. Its times are moving averages, for the CPU per
/// operation, for the device without the transfers, which are predicted from the bytes that this call would move.
///
/// - The CPU is timed once, unless the device is faster than any CPU would be.
/// - The device is used where its predicted time is less, with everything that it has to bring.
/// - Where it is less only once a matrix is there, bringing it is an investment. It is made when the time lost without
///   it, over all uses of this matrix, has reached its price (the ski rental rule: whatever comes, the program takes at
///   most twice as long as with the best choice in hindsight).
/// - The slower side is timed again as soon as that costs at most a fiftieth of the time spent on the faster one.
///
/// A signal handler may interrupt any of this for good, and several threads may meet: there are no locks, and a lost
/// update costs time alone. Thread-safe.
class PredictedTimes {
 public:
  explicit PredictedTimes(const MachineRates& rates) : rates_(rates) {}

  Verdict judge(const operation::Operation& operation, operation::Estimator& residency);
  void observe(const operation::Operation& operation, const Observation& observation);

 private:
  /// Times in seconds; 0: not known.
  struct Class {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> cpu_per_flop{0};
    std::atomic<float> device_per_flop{0};  ///< without transfers
    std::atomic<float> device_seconds{0};   ///< of a call, all included
    std::atomic<float> brought{0};          ///< bytes per call on the device
    std::atomic<float> for_cpu{0};          ///< may be spent to time the CPU again
    std::atomic<float> for_device{0};       ///< likewise
    std::atomic<std::uint32_t> device_calls{0};
  };
  /// The latest matrices that were not brought.
  struct Loss {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> seconds{0};
  };
  struct Prediction;

  /// nullptr where there are too many classes.
  Class* class_of(const operation::Operation& operation);
  Prediction predict(const Class& times, const operation::Operation& operation) const;
  Verdict first_verdict(Class& times, const Prediction& predicted) const;
  Verdict weigh(Class& times, const operation::Operation& operation, const Prediction& predicted, double cpu,
                const operation::Estimate& found);
  Verdict stay(Class& times, double loss) const;
  Verdict invest(const operation::Operation& operation, double gain, double price);
  void learn_cpu(Class& times, double flops, double seconds) const;
  void learn_device(Class& times, double flops, const Observation& observation) const;

  static constexpr std::size_t most_classes = 1024;
  static constexpr std::size_t probes = 16;
  static constexpr std::size_t most_losses = 512;
  const MachineRates rates_;
  std::array<Class, most_classes> classes_{};
  std::array<Loss, most_losses> losses_{};
};

}  // namespace blastoff::decide
