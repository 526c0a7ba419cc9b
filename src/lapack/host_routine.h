// The program's own LAPACK, which can compute any operation of one routine on the CPU.
#pragma once

#include "lapack/problem.h"
#include "operation/host.h"

namespace blastoff::lapack {

class HostRoutine final : public operation::Host {
 public:
  /// `function` is the Fortran function of `routine`; nullptr: the program has none.
  HostRoutine(Routine routine, void* function) : routine_(routine), function_(function) {}

  bool can_compute(const operation::Operation& operation) const override;

  /// Writes the vectors only if the routine succeeds and all results are finite; INFO of potrf in any case.
  bool compute(const operation::Operation& operation) const override;

 private:
  Routine routine_;
  void* function_;
};

}  // namespace blastoff::lapack
