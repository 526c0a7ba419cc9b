// A level-3 call on square matrices that lie one after the other in memory.
#pragma once

#include <cstdint>

#include "blas/shape.h"
#include "blas_front_end.h"
#include "mapped_memory.h"

namespace blastoff::test {

/// Number of pages of a square matrix of doubles of order n.
inline std::size_t pages_of_order(std::int64_t n) {
  return static_cast<std::size_t>(n * n) * sizeof(double) / platform::page_size();
}

/// The matrices have order n, and each must fill whole pages; the first operand comes first.
inline operation::Operation square_call(blas::Routine routine, std::int64_t n, const Memory& memory) {
  blas::Call call;
  call.routine = routine;
  call.m = call.n = call.k = n;
  call.alpha = 1;
  const std::size_t pages = pages_of_order(n);
  void* const addresses[3] = {memory.page(0), memory.page(pages), memory.page(2 * pages)};
  const std::int64_t leading[3] = {n, n, n};
  blas::shape_operands(call, addresses, leading);
  return call;
}

}  // namespace blastoff::test
