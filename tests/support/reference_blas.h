// Every BLAS routine of the table, computed slowly and simply from its definition in the BLAS standard, for comparison
// in tests.
#pragma once

#include "blas/call.h"
#include "blas/host_routine.h"

namespace blastoff::reference {

/// Computes a valid call on the operands' (host) addresses.
void compute(const blas::Call& call);

/// The reference in place of the program's BLAS.
class ReferenceRoutine final : public blas::HostRoutine {
 public:
  bool can_compute(const blas::Call&) const override { return true; }
  void compute(const blas::Call& call) const override { reference::compute(call); }
};

}  // namespace blastoff::reference
