// The program's BLAS as a HostRoutine: any Call back into an original's calling convention.
#pragma once

#include "abi/entry_point.h"
#include "blas/host_routine.h"

namespace blastoff::abi {

/// A function to call, in its convention. Integers are handed over in 64 bits, which suits both widths: the low half of
/// a little-endian variable, or a whole argument slot.
struct HostFunction {
  void* address = nullptr;  ///< nullptr: there is none
  Style style = Style::fortran;
};

class HostRoutine final : public blas::HostRoutine {
 public:
  /// `function` computes `routine`; `gemm` the same library's gemm of the same element type, for panels beside a
  /// triangle.
  HostRoutine(blas::Routine routine, HostFunction function, HostFunction gemm)
      : row_(row(routine)), function_(function), gemm_(gemm) {}

  bool can_compute(const blas::Call& call) const override { return function_for(call).address != nullptr; }
  void compute(const blas::Call& call) const override;

 private:
  HostFunction function_for(const blas::Call& call) const;

  blas::RoutineRow row_;
  HostFunction function_;
  HostFunction gemm_;
};

}  // namespace blastoff::abi
