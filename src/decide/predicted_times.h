// Predicts how long an operation takes on the CPU and on the device, from earlier operations of its class.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "decide/decider.h"
#include "decide/link_rate.h"
#include "decide/machine_model.h"
#include "decide/matrix_regions.h"
#include "decide/recalled_rates.h"
#include "decide/ski_rental.h"
#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

/// A class is a routine with about the same amount of work and data. Its times are moving averages: the CPU's per
/// operation, and the device's per operation without the transfers. The time of transfers is predicted from the bytes
/// that the call would move.
///
/// - Before the first call of a class, its times are those of its neighbours: classes of the same routine with similar
///   work and data. If no neighbour is known, they come from the machine's model. If the model does not know the CPU's
///   time, the CPU is timed once, unless the device is faster than any CPU would be.
/// - The device is used if its predicted time, with everything that has to be copied to it, is less.
/// - If its time is less only once a matrix is there, copying that matrix is an investment. It is made when the time
///   lost without it, over all uses of this matrix and its blocks, has reached its price (the ski rental rule: whatever
///   comes, the program takes at most twice as long as with the best choice in hindsight).
/// - Once results have stayed on the device, their copy home does not count where they are expected to stay again. What
///   the device alone has would have to come home before the CPU could begin: that counts as the CPU's time.
/// - What has moved to the device's memory, the CPU reads there. Until the CPU has been timed after a call on the
///   device, it takes no less time than the model's rate for that says.
/// - Large uploads show the rate of the link, which the model only supposes. If some calls of a class find their
///   matrices on the device and others copy them, the class has a copying rate of its own: the extra time of the calls
///   that copy.
/// - The slower side is timed again as soon as that costs at most a hundredth of the time spent on the faster side. A
///   side whose times come only from neighbours is timed as soon as that costs at most a hundredth of the time spent on
///   all such classes.
///
/// There are no locks, since a signal handler may interrupt any function for good, and several threads may call at
/// once. A lost update costs only time. Thread-safe.
class PredictedTimes {
 public:
  /// The model and the link must outlive this object.
  PredictedTimes(const MachineModel& model, const LinkRate& link) : model_(&model), link_(link) {}

  /// Replaces the model. The times of earlier calls still count. The model must outlive this object.
  void use(const MachineModel& model) { model_.store(&model, std::memory_order_release); }

  /// Fills in `seconds`, unless it is nullptr.
  Refusal judge(const operation::Operation& operation, operation::Estimator& residency, PredictedSeconds* seconds);
  void observe(const operation::Operation& operation, const Observation& observation);

  /// See Decider::settled_calls(). 0 unless the CPU takes less time for this class than the device with all matrices
  /// there.
  std::uint32_t settled_calls(const operation::Operation& operation);

  /// See Decider::cpu_seconds().
  double cpu_seconds(const operation::Operation& operation, double device_seconds) const;
  /// See Decider::measured_cpu_seconds().
  double measured_cpu_seconds(const operation::Operation& operation) const;
  /// See Decider::seconds_on_cpu_alone().
  double seconds_on_cpu_alone(const operation::Operation& operation) const;

  /// See Decider. The rates are those of classes that have been timed; in a later run they replace the guesses from
  /// neighbours.
  std::vector<CpuRate> cpu_rates() const;
  void recall(const std::vector<CpuRate>& rates);

 private:
  /// Times in seconds; 0: not known.
  struct CpuCalls {
    std::atomic<double> seconds{0};
    std::atomic<double> flops{0};
    std::atomic<std::uint32_t> number{0};

    void add(double its_seconds, double its_flops);
  };
  struct Class {
    std::atomic<std::uint64_t> key{0};
    std::atomic<float> cpu_per_flop{0};
    std::atomic<float> device_per_flop{0};  ///< without transfers
    CpuCalls cpu;                           ///< that we have not disturbed
    CpuCalls cpu_alone;                     ///< those of them that were not made beside a device
    std::atomic<float> cpu_guess{0};        ///< per operation, from an earlier run or from neighbours
    std::atomic<float> device_guess{0};     ///< per operation, from neighbours
    std::atomic<bool> found{false};         ///< device_per_flop comes from calls that found most of their matrices on
                                            ///< the device
    std::atomic<bool> timed_there{false};   ///< the CPU was timed after a call on the device: its time includes reading
                                            ///< what has moved there
    std::atomic<float> device_seconds{0};   ///< of a call, with everything
    std::atomic<float> per_byte{0};         ///< for copying a matrix to the device; 0: the rate of all classes
    std::atomic<float> brought{0};          ///< bytes copied to the device by the latest call there
    std::atomic<float> for_cpu{0};          ///< seconds that may be spent to time the CPU
    std::atomic<float> for_device{0};       ///< seconds that may be spent to time the device
    std::atomic<std::uint32_t> device_calls{0};
    std::atomic<std::uint32_t> cpu_calls{0};
  };
  struct Prediction;
  /// The position of a class among the others, in half octaves: steps of a factor of the square root of 2.
  struct Place {
    std::uint32_t routine = 0;
    std::int64_t flops = 0;
    std::int64_t bytes = 0;
    std::uint64_t key() const;
  };
  /// A rate that a class has learnt; 0: unknown.
  using Rate = double (PredictedTimes::*)(const Class&) const;
  /// The time that a class may spend on trials: for_cpu or for_device.
  using Budget = std::atomic<float> Class::*;
  struct Neighbour {
    double rate = 0;  ///< 0: there is none
    double distance = 0;
  };
  static Place place_of(const operation::Operation& operation);

  /// Returns nullptr if there are too many classes.
  Class* class_of(const operation::Operation& operation);
  const Class* known_class_at(const Place& place) const;
  void ask_neighbours(Class& times, const Place& place) const;
  double rate_of_neighbours(const Place& place, Rate rate) const;
  Neighbour nearest(const Place& place, int direction, Rate rate) const;
  double expected_work(const Class& times, const operation::Operation& operation) const;
  Prediction predict(const Class& times, const operation::Operation& operation) const;
  Refusal by_model(const operation::Operation& operation) const;
  Refusal decide(Class& times, const operation::Operation& operation, operation::Estimator& residency,
                 const Prediction& predicted, PredictedSeconds* seconds);
  Refusal judge_new(Class& times, const Prediction& predicted) const;
  operation::Estimate look(const Class& times, const operation::Operation& operation, operation::Estimator& residency,
                           const Prediction& predicted) const;
  double cost_of_leaving(const operation::Operation& operation, operation::Estimator& residency) const;
  bool may_gain_on_device(const Prediction& predicted) const;
  Refusal weigh(Class& times, const operation::Operation& operation, const Prediction& predicted,
                const operation::Estimate& found);
  Refusal stay(Class& times, double loss);
  std::atomic<float>& budget_of(Class& times, Budget budget);
  bool spend(Class& times, Budget budget, double cost);
  void learn_cpu(Class& times, double flops, const Observation& observation);
  double latest_cpu_rate(const Class& times) const;
  double latest_device_rate(const Class& times) const;
  double mean_cpu_rate(const Class& times) const;
  double rate_on_cpu_alone(const Class& times) const;
  double mean_with_earlier_run(const Class& times, const CpuCalls& calls) const;
  void learn_device(Class& times, const operation::Operation& operation, const Observation& observation);
  static bool is_first_to_find(Class& times, const Observation& observation);
  bool learn_bringing(Class& times, double with_all_there, const Observation& observation) const;

  static constexpr std::size_t max_classes = 1024;
  static constexpr std::size_t probes = 16;
  static constexpr std::int64_t farthest = 4;  ///< distance of a neighbour, in half octaves
  std::atomic<const MachineModel*> model_;
  const LinkRate& link_;
  RecalledRates earlier_;
  std::atomic<float> for_cpu_{0};     ///< seconds that may be spent to time the CPU for classes known from neighbours
                                      ///< only
  std::atomic<float> for_device_{0};  ///< seconds that may be spent to time the device for classes known from
                                      ///< neighbours only
  std::array<Class, max_classes> classes_{};
  std::atomic<bool> results_stay_{false};  ///< some have
  MatrixRegions regions_;
  SkiRental copies_;  ///< of matrices, by the time that calls lose without them
};

}  // namespace blastoff::decide
