// CPU or device?
#pragma once

#include <cstdint>
#include <memory>

#include "operation/estimate.h"
#include "operation/operation.h"

namespace blastoff::decide {

enum class Verdict : std::uint8_t {
  device,
  too_small,    ///< in average size
  too_shallow,  ///< in depth
  not_reused,   ///< pays only on resident operands, and such calls have found none
};

/// A call that is over.
struct Observation {
  bool on_device = false;
  bool operands_kept = false;  ///< on the device, for later calls
  double seconds = 0;          ///< wall time of the computation, copies included; no attempt that came to nothing
  std::uint64_t bytes_to_device = 0;
  std::uint64_t bytes_from_device = 0;
  std::uint64_t bytes_reused = 0;  ///< found on the device
};

/// Decides for calls that could run on either. Thread-safe.
class Decider {
 public:
  virtual ~Decider() = default;

  /// Calls of a smaller Work::volume stay on the CPU whatever else is known: one comparison, made before anything
  /// else.
  virtual double floor_volume() const = 0;

  /// `residency` is asked only where the verdict depends on the answer.
  virtual Verdict judge(const operation::Operation& operation, operation::Estimator& residency) = 0;

  /// How a call went that was not too small to be judged, wherever it ran. A signal handler may interrupt this for good
  /// where it ran on the CPU: then no lock is to be taken.
  virtual void observe(const operation::Operation& operation, const Observation& observation) = 0;
};

/// By the call: its average size is at least `min_size` (the cube root of Work::volume), and its depth at least a
/// quarter of that (Work::depth): a large result that takes little work is computed on the spot before it could come
/// home. Measured by bench/minsize.py. By experience: a call that does little work for an element of some operand pays
/// only if that operand stays on the device. Such calls are made as long as they find more there than they bring; else
/// they pause, and are tried again ever more rarely.
std::unique_ptr<Decider> by_size_and_depth(std::int64_t min_size);

}  // namespace blastoff::decide
