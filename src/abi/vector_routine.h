// The program's own routines of level 1: their parameters, and calls of them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "abi/arguments.h"
#include "abi/original_routine.h"
#include "blas/vector_call.h"
#include "operation/host.h"

namespace blastoff::abi {

/// Parameters of a routine in a calling style: integers and alpha. CBLAS passes a real alpha by value.
template <Style style>
using VectorSize = std::conditional_t<style == Style::fortran, const void*, std::int64_t>;
template <Style style, blas::Scalar factor>
using VectorFactor =
    std::conditional_t<style == Style::fortran || blas::is_complex(factor), const void*, Element<factor>>;

/// One routine, as the program would call it.
class VectorRoutine final : public operation::Host {
 public:
  explicit VectorRoutine(HostFunction function) : function_(function) {}

  bool can_compute(const operation::Operation& operation) const override { return blas::is_vector_call(operation); }
  bool compute(const operation::Operation& operation) const override {
    compute(blas::vector_call_of(operation));
    return true;
  }
  /// `call`: of this routine.
  void compute(const blas::VectorCall& call) const;

 private:
  const HostFunction function_;
};

}  // namespace blastoff::abi
