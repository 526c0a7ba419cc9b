// The program's own BLAS, which can compute any Call of one routine on the CPU.
#pragma once

#include "blas/front_end.h"
#include "operation/host.h"

namespace blastoff::blas {

/// operation::Host for BLAS calls. abi/ implements it.
class HostRoutine : public operation::Host {
 public:
  /// Whether compute() may be called for calls of this kind and scalar type. False if the original is missing, or
  /// another routine that it needs: a panel of a triangular result may need gemm besides the intercepted routine.
  virtual bool can_compute(const Call& call) const = 0;
  virtual void compute(const Call& call) const = 0;

  bool can_compute(const operation::Operation& operation) const final {
    return is_blas(operation) && can_compute(call_of(operation));
  }
  bool compute(const operation::Operation& operation) const final {
    compute(call_of(operation));
    return true;
  }
};

}  // namespace blastoff::blas
