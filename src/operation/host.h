// The program's own library, able to do an operation on the CPU.
#pragma once

#include "operation/operation.h"

namespace blastoff::operation {

/// Used by the simulated device, by verification, and to finish what the device could not.
class Host {
 public:
  virtual ~Host() = default;

  /// Whether compute() may be called for operations of this kind (a piece may need another routine than the one that
  /// was intercepted).
  virtual bool can_compute(const Operation& operation) const = 0;

  /// Computes on the operands' addresses, which must be readable and writable by the CPU. Not intercepted again.
  virtual void compute(const Operation& operation) const = 0;
};

}  // namespace blastoff::operation
