// Estimates how much of an operation's data is on the device, before it is decided where the operation runs.
#pragma once

#include <cstdint>
#include <optional>

#include "operation/operation.h"

namespace blastoff::operation {

/// Bytes of the operands that the operation reads. Each operand counts once; transient operands do not count.
struct Estimate {
  std::uint64_t resident = 0;  ///< on the device, as far as is known. Data that the CPU has written since the last use
                               ///< does not count
  std::uint64_t missing = 0;   ///< not on the device: would have to be copied there
  std::uint64_t dirty = 0;     ///< would have to be copied there, and again at the next use, because the CPU writes it
                               ///< before each use
  std::uint64_t only_there = 0;  ///< on the device alone: the CPU would have to wait until they are home
  std::uint64_t moved = 0;       ///< of those resident: lie on the device alone, and the CPU reads them there
  std::uint64_t staying = 0;     ///< of results, which are expected to stay on the device
};

/// Makes estimates.
class Estimator {
 public:
  /// Takes no lock, waits for nothing and makes no system call. Nothing if no estimate is possible now.
  virtual std::optional<Estimate> estimate(const Operation& operation) = 0;

 protected:
  ~Estimator() = default;
};

}  // namespace blastoff::operation
