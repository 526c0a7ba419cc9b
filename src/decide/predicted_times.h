// How long operations take on the CPU and on the device, predicted from earlier ones of the same class.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decide/decider.h"
#include "decide/machine_model.h"
#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// A class is a routine with about the same amount of work and of data. Its times are moving averages, for the CPU per
/// operation, for the device without the transfers, which are predicted from the bytes that this call would move.
///
/// - Before the first call of a class, its times are those of its neighbours: classes of the routine with about as much
///   work and data. Where none is known, they are those of the machine's model. Where that does not know the CPU's, the
///   CPU is timed once, unless the device is faster than any CPU would be.
/// - The device is used where its predicted time is less, with everything that it has to bring.
/// - Where it is less only once a matrix is there, bringing it is an investment. It is made when the time lost without
///   it, over all uses of this matrix, has reached its price (the ski rental rule: whatever comes, the program takes at
///   most twice as long as with the best choice in hindsight).
/// - Large uploads show the rate of the link, which the model only supposes. A class of which some calls find their
///   matrices and others bring them has a rate of its own: what the latter take longer.
/// - The slower side is timed again as soon as that costs at most a hundredth of the time spent on the faster one. What
///   only the neighbours tell is timed as soon as that costs at most a hundredth of the time spent on all such classes.
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

  /// See Decider::settled_calls(): of a class in which the CPU takes less time than the device with all matrices there.
  std::uint32_t settled_calls(const operation::Operation& operation);

  /// See Decider::cpu_seconds().
  double cpu_seconds(const operation::Operation& operation, double device_seconds) const;
  /// See Decider::measured_cpu_seconds().
  double measured_cpu_seconds(const operation::Operation& operation) const;

  /// See Decider. They are of the classes that have been timed, and stand for what neighbours tell.
  std::vector<CpuRate> cpu_rates() const;
  void recall(const std::vector<CpuRate>& rates);

 private:
  /// Times in seconds; 0: not known.
  struct Class {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> cpu_per_flop{0};
    std::atomic<float> device_per_flop{0};  ///< without transfers
    std::atomic<double> cpu_seconds{0};     ///< of all calls of the CPU that nothing of ours has disturbed
    std::atomic<double> cpu_flops{0};       ///< of those
    std::atomic<float> cpu_guess{0};        ///< per operation, by an earlier run, or by neighbours
    std::atomic<float> device_guess{0};     ///< the same, for the device
    std::atomic<bool> found{false};         ///< device_per_flop is from calls that found most of what they read
    std::atomic<float> device_seconds{0};   ///< of a call, all included
    std::atomic<float> per_byte{0};         ///< of bringing; 0: as for all classes
    std::atomic<float> brought{0};          ///< bytes per call on the device
    std::atomic<float> for_cpu{0};          ///< seconds that may be spent to time the CPU
    std::atomic<float> for_device{0};       ///< likewise
    std::atomic<std::uint32_t> device_calls{0};
    std::atomic<std::uint32_t> cpu_calls{0};
  };
  /// Matrices that were not brought.
  struct Loss {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> seconds{0};
  };
  struct Prediction;
  /// Where a class lies among others. Half octaves: steps of a factor of the square root of 2.
  struct Place {
    std::uint32_t routine = 0;
    std::int64_t flops = 0;
    std::int64_t bytes = 0;
    std::uint64_t key() const;
  };
  /// A rate that a class has learnt.
  using Rate = std::atomic<float> Class::*;
  /// What a class may spend on trials.
  using Budget = std::atomic<float> Class::*;
  struct Neighbour {
    double rate = 0;  ///< 0: there is none
    double distance = 0;
  };
  static Place place_of(const operation::Operation& operation);

  /// nullptr where there are too many classes.
  Class* class_of(const operation::Operation& operation);
  const Class* known_class_at(const Place& place) const;
  void ask_neighbours(Class& times, const Place& place) const;
  double rate_of_earlier_run(std::uint64_t key) const;
  double rate_of_neighbours(const Place& place, Rate rate) const;
  Neighbour nearest(const Place& place, int direction, Rate rate) const;
  Prediction predict(const Class& times, const operation::Operation& operation) const;
  Verdict by_model(const operation::Operation& operation) const;
  Verdict decide(Class& times, const operation::Operation& operation, operation::Estimator& residency,
                 const Prediction& predicted, Grounds* grounds);
  Verdict first_verdict(Class& times, const Prediction& predicted) const;
  Verdict weigh(Class& times, const operation::Operation& operation, const Prediction& predicted,
                const operation::Estimate& found);
  Verdict stay(Class& times, double loss);
  std::atomic<float>& budget_of(Class& times, Budget budget);
  bool spend(Class& times, Budget budget, double cost);
  Verdict invest(const operation::Operation& operation, double gain, double price);
  void learn_cpu(Class& times, double flops, const Observation& observation);
  double mean_cpu_rate(const Class& times) const;
  void learn_device(Class& times, const operation::Operation& operation, const Observation& observation);
  static bool is_first_to_find(Class& times, const Observation& observation);
  static bool learn_bringing(Class& times, double with_all_there, const Observation& observation);
  void learn_link(const Observation& observation);
  Loss& loss_of(std::uint64_t key);

  static constexpr std::size_t most_classes = 1024;
  static constexpr std::size_t probes = 16;
  static constexpr std::size_t loss_sets = 128;
  static constexpr std::size_t loss_ways = 8;
  static constexpr std::int64_t farthest = 4;  ///< neighbour
  std::atomic<const MachineModel*> model_;
  std::atomic<const std::vector<CpuRate>*> earlier_{nullptr};  ///< by rising key; never freed
  std::atomic<float> for_cpu_{0};     ///< seconds that may be spent to time the CPU where only neighbours tell
  std::atomic<float> for_device_{0};  ///< the same, to time the device
  std::atomic<float> to_device_{0};   ///< bytes per second, as seen; 0: not seen yet
  std::array<Class, most_classes> classes_{};
  std::array<std::array<Loss, loss_ways>, loss_sets> losses_{};
};

}  // namespace blastoff::decide
