// CPU or device?
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

enum class Verdict : std::uint8_t {
  device,
  too_small,    ///< in average size
  too_shallow,  ///< in depth
  not_reused,   ///< pays only with resident operands, and recent such calls had none
  not_there,    ///< a product of a matrix and a vector, whose matrix has to be brought and has not been used enough
  not_timed,    ///< judged by measured times, and the CPU's is not known yet
  cpu_faster,   ///< by measured times
};

/// A call that is over.
struct Observation {
  bool on_device = false;
  bool operands_kept = false;  ///< on the device, for later calls
  bool typical = true;  ///< false: the device was not quite ready, or the CPU was disturbed, and later calls will
                        ///< take less time
  double seconds = 0;   ///< wall time of the computation, copies included; no attempt that came to nothing.
                        ///< On the device, with the page faults of writing its operands since their latest use
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;  ///< found on the device
  double transfer_seconds = 0;     ///< of `seconds`, in which the call only waited for data
  std::uint32_t calls = 1;         ///< for which it stands: the others were settled_calls()
};

/// What a verdict rests on, in seconds: for --explain. 0 where nobody has predicted anything.
struct Grounds {
  double cpu_seconds = 0;       ///< 0: unknown
  double device_seconds = 0;    ///< with all matrices there, the results' way home included
  double bringing_seconds = 0;  ///< of what is missing
  double missing_bytes = 0;
};

struct MachineModel;

/// What operations of a class take on the CPU (see PredictedTimes).
struct CpuRate {
  std::uint64_t key = 0;        ///< of the class
  double seconds_per_flop = 0;  ///< of an operation
};

/// Decides for calls that could run on either. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls with a smaller Work::volume always stay on the CPU. This is one comparison, made before anything else.
  /// use() may change it.
  virtual double floor_volume() const = 0;

  /// `residency` is asked only where the verdict depends on the answer. `grounds`, unless nullptr, is filled in where
  /// times were predicted.
  virtual Verdict judge(const operation::Operation& operation, operation::Estimator& residency, Grounds* grounds) = 0;
  Verdict judge(const operation::Operation& operation, operation::Estimator& residency) {
    return judge(operation, residency, nullptr);
  }

  /// What the CPU would take for a call that took `device_seconds` on the device, by earlier calls of the same kind or
  /// by the machine's model. Where these do not tell, and the device took less than any CPU of this machine would: what
  /// that would take at least. 0: unknown.
  virtual double cpu_seconds(const operation::Operation& operation, double device_seconds) const = 0;

  /// The same by what has been measured on this machine alone: by calls of its kind, of this run or of an earlier one,
  /// by those of about its size, or by a calibration of the CPU. 0: nothing has.
  virtual double measured_cpu_seconds(const operation::Operation&) const { return 0; }

  /// What this run's calls have shown, for later runs; and what those of an earlier run have. Once.
  virtual std::vector<CpuRate> cpu_rates() const { return {}; }
  virtual void recall(const std::vector<CpuRate>&) {}

  /// A better model of the machine has been found. It must outlive this.
  virtual void use(const MachineModel& model) = 0;

  /// How a call went that was not too small to be judged, wherever it ran. A signal handler may interrupt this for good
  /// where it ran on the CPU: then no lock is to be taken.
  virtual void observe(const operation::Operation& operation, const Observation& observation) = 0;

  /// How many calls of the same routine and sizes may follow one that stays on the CPU, and be made there without being
  /// judged or observed: whatever they met, they would stay. As under observe().
  virtual std::uint32_t settled_calls(const operation::Operation& /*operation*/) { return 0; }
};

/// With `min_size` 0 everything is offloaded. Else by size: the average size (the cube root of Work::volume) must be at
/// least `min_size`, and the depth (Work::depth) at least a quarter of that. A large result of little work is computed
/// faster by the CPU than it could be copied back. Measured by bench/minsize.py. By experience: a call that does little
/// work per element of some operand pays only if that operand stays on the device. Such calls are offloaded while they
/// reuse more bytes than they upload. Otherwise they pause, and are tried again at growing intervals. A product of a
/// matrix and a vector (Work::memory_bound) goes where its matrix is, and the matrix to the device when it has been
/// used enough: see MatrixHistory. Operations with a shape are judged by measured times: see MeasuredTimes.
std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size);

/// By --decide size where nobody has said another. Measured by bench/minsize.py on an H100 and 16 cores.
inline constexpr std::int64_t usual_min_size = 250;

/// What is not too small goes where it is expected to take less time: see PredictedTimes. With `min_size`, too small is
/// less than that by size, as above, or less deep than a sixteenth of it; 0 offloads everything. Without it, too small
/// is what cannot gain, by the model in use: see MachineModel::floor_volume().
/// The model must outlive the decider.
std::unique_ptr<Decider> by_time(std::optional<std::int64_t> min_size, const MachineModel& model);

}  // namespace blastoff::decide
