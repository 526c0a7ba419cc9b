// How long operations take on the CPU and on the device, predicted from earlier ones of the same class.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "decide/decider.h"
#include "decide/machine_model.h"
#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// A class is a routine with about the same amount of work and of data. Its times are moving averages, for the CPU per
/// operation, for the device without the transfers, which are predicted from the bytes that this call would move.
///
/// - Before the first call of a class, its times are those of the machine's model. Where that does not know the CPU's,
///   the CPU is timed once, unless the device is faster than any CPU would be.
/// - The device is used where its predicted time is less, with everything that it has to bring.
/// - Where it is less only once a matrix is there, bringing it is an investment. It is made when the time lost without
///   it, over all uses of this matrix, has reached its price (the ski rental rule: whatever comes, the program takes at
///   most twice as long as with the best choice in hindsight).
/// - Large uploads show the rate of the link, which the model only supposes. A class of which some calls find their
///   matrices and others bring them has a rate of its own: what the latter take longer.
/// - The slower side is timed again as soon as that costs at most a fiftieth of the time spent on the faster one.
///
/// A signal handler may interrupt any of this for good, and several threads may meet: there are no locks, and a lost
/// update costs time alone. Thread-safe.
class PredictedTimes {
 public:
  /// The model must outlive this.
  explicit PredictedTimes(const MachineModel& model) : model_(&model) {}

  /// From now on. What calls have shown goes on to count. The model must outlive this.
  void use(const MachineModel& model) { model_.store(&model, std::memory_order_release); }

  /// `grounds`, unless nullptr, is filled in.
  Verdict judge(const operation::Operation& operation, operation::Estimator& residency, Grounds* grounds);
  void observe(const operation::Operation& operation, const Observation& observation);

  /// See Decider::cpu_seconds().
  double cpu_seconds(const operation::Operation& operation, double device_seconds) const;

 private:
  /// Times in seconds; 0: not known.
  struct Class {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> cpu_per_flop{0};
    std::atomic<float> device_per_flop{0};  ///< without transfers
    std::atomic<bool> found{false};         ///< device_per_flop is from calls that found most of what they read
    std::atomic<float> device_seconds{0};   ///< of a call, all included
    std::atomic<float> per_byte{0};         ///< of bringing; 0: as for all classes
    std::atomic<float> brought{0};          ///< bytes per call on the device
    std::atomic<float> for_cpu{0};          ///< may be spent to time the CPU again
    std::atomic<float> for_device{0};       ///< likewise
    std::atomic<std::uint32_t> device_calls{0};
  };
  /// Matrices that were not brought.
  struct Loss {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> seconds{0};
  };
  struct Prediction;

  /// nullptr where there are too many classes.
  Class* class_of(const operation::Operation& operation);
  const Class* known_class_of(const operation::Operation& operation) const;
  Prediction predict(const Class& times, const operation::Operation& operation) const;
  Verdict decide(Class& times, const operation::Operation& operation, operation::Estimator& residency,
                 const Prediction& predicted, Grounds* grounds);
  Verdict first_verdict(Class& times, const Prediction& predicted) const;
  Verdict weigh(Class& times, const operation::Operation& operation, const Prediction& predicted,
                const operation::Estimate& found);
  Verdict stay(Class& times, double loss) const;
  Verdict invest(const operation::Operation& operation, double gain, double price);
  void learn_cpu(Class& times, double flops, double seconds) const;
  void learn_device(Class& times, const operation::Operation& operation, const Observation& observation);
  static bool is_first_to_find(Class& times, const Observation& observation);
  static bool learn_bringing(Class& times, double with_all_there, const Observation& observation);
  void learn_link(const Observation& observation);
  Loss& loss_of(std::uint64_t key);

  static constexpr std::size_t most_classes = 1024;
  static constexpr std::size_t probes = 16;
  static constexpr std::size_t loss_sets = 128;
  static constexpr std::size_t loss_ways = 8;
  std::atomic<const MachineModel*> model_;
  std::atomic<float> to_device_{0};  ///< bytes per second, as seen; 0: not seen yet
  std::array<Class, most_classes> classes_{};
  std::array<std::array<Loss, loss_ways>, loss_sets> losses_{};
};

}  // namespace blastoff::decide
