// The program's own library, which can compute an operation on the CPU.
#pragma once

#include "operation/operation.h"

namespace blastoff::operation {

/// Used by the simulated device, by verification, and to complete a result if the device failed.
class Host {
 public:
  virtual ~Host() = default;

  /// Whether compute() may be called for this kind of operation. (A piece may need a routine other than the intercepted
  /// one.)
  virtual bool can_compute(const Operation& operation) const = 0;

  /// Computes on the operands' addresses, which the CPU must be able to read and write. The call is not intercepted.
  /// Returns false if an operation that may fail has failed; its results are then undefined.
  virtual bool compute(const Operation& operation) const = 0;
};

}  // namespace blastoff::operation
