// A product of matrices of doubles, as a call.
#pragma once

#include <array>
#include <cstdint>

#include "blas/shape.h"

namespace blastoff::test {

/// C := A B + beta C of an m x k and a k x n matrix. Without `leading`, nothing lies between the columns.
inline blas::Call product_call(const std::array<void*, 3>& matrices, std::int64_t m, std::int64_t n, std::int64_t k,
                               double beta = 0, std::array<std::int64_t, 3> leading = {}) {
  blas::Call call;
  call.routine = blas::Routine::dgemm;
  call.m = m;
  call.n = n;
  call.k = k;
  call.alpha = 1;
  call.beta = beta;
  if (leading.front() == 0) leading = {m, k, m};
  blas::shape_operands(call, matrices, leading);
  return call;
}

}  // namespace blastoff::test
