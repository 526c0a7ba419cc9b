// The program's BLAS as an OriginalRoutine: calls an original, by its own calling convention, for any Call.
#pragma once

#include "abi/convention.h"
#include "blas/host_routine.h"

namespace blastoff::abi {

/// A function and its calling convention. Integers are passed in 64 bits, which suits both widths: the callee reads the
/// low half of a little-endian variable, or a whole argument slot.
struct HostFunction {
  void* address = nullptr;  ///< nullptr: the program has no such function
  Style style = Style::fortran;
};

/// Returns the second routine that panels, blocks, verification or the products of a batch need: gemm, or trsm for
/// solves in batches. For a product of a matrix and a vector, returns the routine itself, because no other is needed.
constexpr blas::Routine companion_of(blas::Routine routine) {
  const blas::RoutineRow& of = row(routine);
  if (is_matrix_vector(of.kind)) return routine;
  return blas::routine_of(is_solve_batch(of.kind) ? blas::Kind::trsm : blas::Kind::gemm, of.scalar);
}

class OriginalRoutine final : public blas::HostRoutine {
 public:
  /// `function` computes `routine`. `companion` computes companion_of(routine), and belongs to the same library.
  OriginalRoutine(blas::Routine routine, HostFunction function, HostFunction companion)
      : routine_(routine), function_(function), companion_(companion) {}

  bool can_compute(const blas::Call& call) const override { return function_for(call).address != nullptr; }
  void compute(const blas::Call& call) const override;

 private:
  HostFunction function_for(const blas::Call& call) const;

  blas::Routine routine_;
  HostFunction function_;
  HostFunction companion_;
};

}  // namespace blastoff::abi
