// The program's own BLAS, able to compute any Call of one routine on the CPU.
#pragma once

#include "blas/call.h"

namespace blastoff::blas {

/// Implemented by abi/; used by the simulated device, by verification, and to finish a call that the device could not.
class HostRoutine {
 public:
  virtual ~HostRoutine() = default;

  /// Whether compute() may be called for calls of this kind and scalar type (no original, no arithmetic; a panel of a
  /// triangular result may need gemm beside the routine that was intercepted).
  virtual bool can_compute(const Call& call) const = 0;

  /// Computes `call` on the operands' addresses, which must be readable and writable by the CPU. Not intercepted again.
  virtual void compute(const Call& call) const = 0;
};

}  // namespace blastoff::blas
