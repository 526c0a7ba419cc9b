// Decides whether a call runs on the CPU or on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operation/estimate.h"
#include "operation/operation.h"
#include "report/refusal.h"

namespace blastoff::decide {

using report::Refusal;

/// Timing the slower side may take this share of the time spent on the faster side.
inline constexpr double share_for_trials = 0.01;

/// A call that has ended.
struct Observation {
  bool on_device = false;
  bool operands_kept = false;  ///< the operands stay on the device, for later calls
  bool typical = true;  ///< false: later calls will take less time, since the device was not quite ready or the CPU
                        ///< disturbed
  bool beside_device = false;  ///< the CPU made it in a rank whose device is open. While the other ranks of its node
                               ///< wait for theirs, a core computes faster than it would if all ranks computed
  double seconds = 0;  ///< wall time of the computation with its copies, without failed attempts. On the device it
                       ///< includes the page faults that tracking the operands has cost since their latest use
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;  ///< bytes that the call found on the device
  std::uint64_t bytes_left = 0;    ///< bytes of results that stay on the device
  double transfer_seconds = 0;     ///< the part of `seconds` in which the call only waited for data
  std::uint32_t calls = 1;         ///< number of calls that this observation stands for: the others were
                                   ///< settled_calls()
};

/// The predicted times that a decision rests on, for --explain. 0 where nothing was predicted.
struct PredictedSeconds {
  double cpu_seconds = 0;       ///< 0: unknown
  double device_seconds = 0;    ///< with all matrices on the device, including the copy of the results to the host
  double bringing_seconds = 0;  ///< time to copy the missing bytes to the device
  double missing_bytes = 0;
};

struct MachineModel;

/// The CPU's time for operations of a class (see PredictedTimes) or a shape (see MeasuredTimes).
struct CpuRate {
  std::uint64_t key = 0;  ///< identifies the class or the shape
  double seconds_per_flop = 0;
  std::uint32_t calls = 0;  ///< number of calls of which this is the mean; 0: all of them were disturbed
};

/// Decides for calls that could run on the CPU or on the device. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls with a smaller Work::volume always stay on the CPU. This is one comparison, made before anything else.
  /// use() may change it.
  virtual double floor_volume() const = 0;

  /// Why one call stays on the CPU; Refusal::none: it goes to the device. Asks `residency` only if that depends on the
  /// answer. Fills in `predicted`, unless it is nullptr, if times were predicted.
  virtual Refusal judge(const operation::Operation& operation, operation::Estimator& residency,
                        PredictedSeconds* predicted) = 0;
  Refusal judge(const operation::Operation& operation, operation::Estimator& residency) {
    return judge(operation, residency, nullptr);
  }

  /// Returns the time that the CPU would take for a call that took `device_seconds` on the device. If nothing was
  /// measured (measured_cpu_seconds()), and the device took less than any CPU of this machine would, returns the least
  /// time that a CPU would take. 0: unknown.
  virtual double cpu_seconds(const operation::Operation& operation, double device_seconds) const = 0;

  /// Returns the CPU's time by what has been measured on this machine alone: by calls of this kind, in this run or an
  /// earlier one, by calls of about this size, or by a calibration of the CPU. 0: nothing was measured.
  virtual double measured_cpu_seconds(const operation::Operation&) const { return 0; }

  /// The same for a run on the CPU alone: calls that were made beside a device (Observation::beside_device) do not
  /// count.
  virtual double seconds_on_cpu_alone(const operation::Operation& operation) const {
    return measured_cpu_seconds(operation);
  }

  /// cpu_rates() returns what this run's own calls have shown of a run on the CPU alone, for later runs. recall() takes
  /// the rates of an earlier run, and is called once.
  virtual std::vector<CpuRate> cpu_rates() const { return {}; }
  virtual void recall(const std::vector<CpuRate>&) {}

  /// Takes a better model of the machine. The model must outlive this object.
  virtual void use(const MachineModel& model) = 0;

  /// Learns from a call that was not too small to be judged, wherever it ran. If the call ran on the CPU, a signal
  /// handler may interrupt this function and never return to it: so it takes no lock then.
  virtual void observe(const operation::Operation& operation, const Observation& observation) = 0;

  /// Returns how many calls of the same routine and sizes may follow one that stays on the CPU, and stay there without
  /// being judged or observed: they would stay whatever they met. For a product of a matrix and a vector, it is calls
  /// of any size, as long as no device is open. Takes no lock, as observe().
  virtual std::uint32_t settled_calls(const operation::Operation& /*operation*/) { return 0; }
};

/// With `min_size` 0, every call is offloaded. Otherwise the decision goes by size first: the average size (the cube
/// root of Work::volume) must be at least `min_size`, and the depth (Work::depth) at least a quarter of `min_size`. The
/// CPU computes a large result of little work faster than the result could be copied back. Measured by
/// bench/minsize.py.
///
/// A call that does little work per element of some operand pays only if that operand stays on the device. Such calls
/// are offloaded while they reuse more bytes than they upload. Otherwise they pause, and are tried again at growing
/// intervals.
///
/// A product of a matrix and a vector (Work::memory_bound) runs where its matrix is. The matrix is copied to the device
/// when it has been used enough: see MatrixHistory. An operation that only moves numbers runs where its matrix is, too;
/// none is ever copied to the device for it. Operations with a shape are judged by measured times: see
/// MeasuredTimes.
std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size);

/// The default for --decide size. Measured by bench/minsize.py on an H100 and 16 cores.
inline constexpr std::int64_t usual_min_size = 250;

/// Calls that are not too small run where they are expected to take less time: see PredictedTimes. With `min_size`, a
/// call is too small if its average size is less than `min_size` or its depth less than a sixteenth of it; 0 offloads
/// everything. Without `min_size`, a call is too small if it cannot gain by the model in use: see
/// MachineModel::floor_volume(). The model must outlive the decider.
std::unique_ptr<Decider> by_time(std::optional<std::int64_t> min_size, const MachineModel& model);

}  // namespace blastoff::decide
