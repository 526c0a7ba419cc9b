#include "decide/decider.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "decide/machine_model.h"
#include "decide/matrix_history.h"
#include "decide/measured_times.h"
#include "decide/predicted_times.h"
#include "operation/amounts.h"
#include "operation/movement.h"
#include "platform/backoff.h"

namespace blastoff::decide {

namespace {

/// Learns whether operands that are uploaded to the device are reused there, and admits calls to the device in trials
/// of a few calls. If a trial reuses at least as many bytes as it uploads, the next trial follows at once, otherwise
/// after a pause (Backoff). Thread-safe.
class Reuse {
 public:
  /// Whether the next call may be tried; if not, counts it towards the end of the pause.
  bool may_try() { return backoff_.may_try(); }

  /// Learns how many bytes a call of a trial uploaded (`brought`) and reused (`found`).
  void learn(std::uint64_t brought, std::uint64_t found) {
    const std::lock_guard lock(mutex_);
    brought_ += brought;
    found_ += found;
    if (--calls_to_try_ > 0) return;
    if (found_ >= brought_) {
      calls_to_try_ = first_trial;
      backoff_.succeeded();
    } else {
      calls_to_try_ = later_trial;
      backoff_.failed();
    }
    brought_ = found_ = 0;
  }

 private:
  static constexpr int first_trial = 8;
  static constexpr int later_trial = 2;

  platform::Backoff backoff_;
  std::mutex mutex_;
  int calls_to_try_ = first_trial;
  std::uint64_t brought_ = 0;
  std::uint64_t found_ = 0;
};

/// The least depth is the least average size divided by this. With --decide size, flatter products take longer to copy
/// their results back than the CPU takes to compute them; measured by bench/minsize.py against all cores. With --decide
/// time, the times themselves show this, and one core or a few may well take longer. There the least depth serves only
/// if a least size is given: calls below it stay on the CPU without a look at their times, because no CPU computes them
/// in less time than it takes to read their results.
constexpr double depth_by_size = 4;
constexpr double depth_by_time = 16;

/// Multiplications per element of the largest operand that is read.
double min_work_per_element(const operation::Operation& operation) {
  double max_elements = 1;
  for (const operation::Operand& operand : operation.operands()) {
    if (operation::reads(operand.intent))
      max_elements = std::max(max_elements, static_cast<double>(operand.rows) * static_cast<double>(operand.columns));
  }
  return operation.work.volume / max_elements;
}

/// Bytes of operands that are read and of results.
std::uint64_t bytes_to_move(const operation::Operation& operation) {
  return part_bytes(operation, operation::reads) + part_bytes(operation, operation::writes);
}

/// Such an operation is left to the CPU if the device lacks more than this share of its matrices.
constexpr double max_missing = 1.0 / 16;

bool is_there(const operation::Estimate& found) {
  return static_cast<double>(found.missing + found.dirty) <= max_missing * static_cast<double>(found.resident);
}

class SizeAndDepthDecider : public Decider {
 public:
  explicit SizeAndDepthDecider(double min_size, double depth = depth_by_size)
      : SizeAndDepthDecider(min_size * min_size * min_size, min_size / depth, min_size == 0) {}

  double floor_volume() const override { return floor_volume_.load(std::memory_order_relaxed); }

  Refusal judge(const operation::Operation& operation, operation::Estimator& residency,
                PredictedSeconds* predicted) override {
    if (operation.work.volume < floor_volume()) return Refusal::below_min_size;
    if (operation.work.memory_bound) return judge_memory_bound(operation, residency);
    if (operation.shape != 0) return judge_by_time(operation);
    if (operation.work.depth < min_depth_) return Refusal::too_shallow;
    return judge_large(operation, residency, predicted);
  }

  double cpu_seconds(const operation::Operation& operation, double device_seconds) const override {
    if (belongs_to_matrix(operation)) return 0;
    if (operation.work.memory_bound) return matrices_.cpu_seconds(operation);
    return operation.shape != 0 ? measured_times_.cpu_seconds(operation.shape)
                                : cpu_seconds_of_large(operation, device_seconds);
  }

  double measured_cpu_seconds(const operation::Operation& operation) const override {
    const bool large = !operation.work.memory_bound && operation.shape == 0;
    return large ? measured_cpu_seconds_of_large(operation) : cpu_seconds(operation, 0);
  }

  double seconds_on_cpu_alone(const operation::Operation& operation) const override {
    if (operation.work.memory_bound) return cpu_seconds(operation, 0);
    return operation.shape != 0 ? measured_times_.seconds_on_cpu_alone(operation)
                                : seconds_on_cpu_alone_of_large(operation);
  }

  std::vector<CpuRate> cpu_rates() const override { return measured_times_.cpu_rates(); }
  void recall(const std::vector<CpuRate>& rates) override { measured_times_.recall(rates); }

  std::uint32_t settled_calls(const operation::Operation& operation) override {
    const bool belongs_to_history = operation.work.memory_bound && !takes_all_ && !belongs_to_matrix(operation);
    return belongs_to_history ? matrices_.settled_products(operation) : 0;
  }

  void use(const MachineModel& model) override {
    link_.assume(model);
    matrices_.assume(model);
  }

  void observe(const operation::Operation& operation, const Observation& observation) override {
    link_.learn(observation);
    if (observation.on_device) matrices_.device_is_open();
    if (belongs_to_matrix(operation)) return;
    if (operation.shape != 0) return measured_times_.learn(operation, observation);
    if (operation.work.memory_bound) {
      if (!takes_all_ && operation.work.volume >= floor_volume()) matrices_.observe(operation, observation);
    } else {
      observe_large(operation, observation);
    }
  }

 protected:
  SizeAndDepthDecider(double floor_volume, double min_depth, bool takes_all)
      : takes_all_(takes_all), min_depth_(min_depth), floor_volume_(floor_volume) {}

  void set_floor(double volume) { floor_volume_.store(volume, std::memory_order_relaxed); }
  /// Whether every call is offloaded.
  const LinkRate& link() const { return link_; }
  bool takes_all() const { return takes_all_; }

  /// Decides for operations that are large and deep enough.
  virtual Refusal judge_large(const operation::Operation& operation, operation::Estimator&, PredictedSeconds*) {
    return needs_reuse(operation) && !reuse_.may_try() ? Refusal::not_reused : Refusal::none;
  }
  virtual double cpu_seconds_of_large(const operation::Operation&, double) const { return 0; }
  virtual double measured_cpu_seconds_of_large(const operation::Operation&) const { return 0; }
  virtual double seconds_on_cpu_alone_of_large(const operation::Operation&) const { return 0; }
  virtual void observe_large(const operation::Operation& operation, const Observation& observation) {
    if (observation.operands_kept && needs_reuse(operation))
      reuse_.learn(observation.bytes_to_device, observation.bytes_reused);
  }

 private:
  Refusal judge_memory_bound(const operation::Operation& operation, operation::Estimator& residency) {
    if (takes_all_) return Refusal::none;
    if (belongs_to_matrix(operation)) {
      const auto found = residency.estimate(operation);
      return found && found->resident > 0 && is_there(*found) ? Refusal::none : Refusal::not_there;
    }
    if (matrices_.cannot_gain(operation)) return Refusal::not_there;
    return matrices_.worth_device(operation, residency.estimate(operation)) ? Refusal::none : Refusal::not_there;
  }

  Refusal judge_by_time(const operation::Operation& operation) {
    return takes_all_ ? Refusal::none : measured_times_.judge(operation.shape, bytes_to_move(operation));
  }

  bool needs_reuse(const operation::Operation& operation) const { return min_work_per_element(operation) < min_depth_; }

  const bool takes_all_;
  const double min_depth_;
  std::atomic<double> floor_volume_;
  Reuse reuse_;
  LinkRate link_{MachineModel()};
  MatrixHistory matrices_{link_};
  MeasuredTimes measured_times_{link_};
};

class TimeDecider final : public SizeAndDepthDecider {
 public:
  TimeDecider(double min_size, const MachineModel& model)
      : SizeAndDepthDecider(min_size, depth_by_time), floor_by_model_(false), times_(model, link()) {
    SizeAndDepthDecider::use(model);
  }
  explicit TimeDecider(const MachineModel& model)
      : SizeAndDepthDecider(model.floor_volume(), 0, false), floor_by_model_(true), times_(model, link()) {
    SizeAndDepthDecider::use(model);
  }

  void use(const MachineModel& model) override {
    SizeAndDepthDecider::use(model);
    times_.use(model);
    if (floor_by_model_) set_floor(model.floor_volume());
  }

  std::vector<CpuRate> cpu_rates() const override {
    std::vector<CpuRate> rates = times_.cpu_rates();
    for (const CpuRate& each : SizeAndDepthDecider::cpu_rates()) rates.push_back(each);
    return rates;
  }
  void recall(const std::vector<CpuRate>& rates) override {
    SizeAndDepthDecider::recall(rates);
    times_.recall(rates);
  }

  std::uint32_t settled_calls(const operation::Operation& operation) override {
    if (operation.work.memory_bound) return SizeAndDepthDecider::settled_calls(operation);
    return !takes_all() && operation.shape == 0 ? times_.settled_calls(operation) : 0;
  }

 protected:
  Refusal judge_large(const operation::Operation& operation, operation::Estimator& residency,
                      PredictedSeconds* predicted) override {
    return takes_all() ? Refusal::none : times_.judge(operation, residency, predicted);
  }
  double cpu_seconds_of_large(const operation::Operation& operation, double device_seconds) const override {
    return times_.cpu_seconds(operation, device_seconds);
  }
  double measured_cpu_seconds_of_large(const operation::Operation& operation) const override {
    return times_.measured_cpu_seconds(operation);
  }
  double seconds_on_cpu_alone_of_large(const operation::Operation& operation) const override {
    return times_.seconds_on_cpu_alone(operation);
  }
  void observe_large(const operation::Operation& operation, const Observation& observation) override {
    times_.observe(operation, observation);
  }

 private:
  const bool floor_by_model_;
  PredictedTimes times_;
};

}  // namespace

std::unique_ptr<Decider> by_time(std::optional<std::int64_t> min_size, const MachineModel& model) {
  if (!min_size) return std::make_unique<TimeDecider>(model);
  return std::make_unique<TimeDecider>(static_cast<double>(*min_size), model);
}

std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size) {
  return std::make_unique<SizeAndDepthDecider>(static_cast<double>(min_size));
}

}  // namespace blastoff::decide
