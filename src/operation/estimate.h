// What an operation would find on the device, asked before it is decided where it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "operation/operation.h"

namespace blastoff::operation {

/// Bytes of the operands that the operation reads; each counts once, and transient ones do not.
struct Estimate {
  std::uint64_t resident = 0;  ///< on the device, as far as is known: what the CPU wrote since the last use is not
  std::uint64_t missing = 0;   ///< would have to be brought
  std::uint64_t dirty = 0;     ///< likewise, and again at the next use: the CPU writes it anew before each
};

/// Who can tell.
class Estimator {
 public:
  /// Takes hold of nothing, waits for nobody and makes no system call. Nothing where that is not possible now.
  virtual std::optional<Estimate> estimate(const Operation& operation) = 0;

 protected:
  ~Estimator() = default;
};

}  // namespace blastoff::operation
