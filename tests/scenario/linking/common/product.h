// Products by the dgemm under test, each compared with plain loops.
#pragma once

#include "scenario.h"

typedef void Gemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*);

enum { PRODUCT_SIZE = 24, PRODUCT_CALLS = 3 };

/// Calls `gemm` three times on operands that change in between. Returns the number of right results.
static inline int right_products(Gemm* gemm) {
  const int n = PRODUCT_SIZE, count = n * n;
  const double one = 1.0, zero = 0.0;
  double* const a = filled(count, 1);
  double* const b = filled(count, 2);
  double* const c = filled(count, 3);
  int right = 0;
  for (int call = 0; call < PRODUCT_CALLS; ++call) {
    a[call] += 1.0;
    gemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
    right += holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n);
  }
  free(a);
  free(b);
  free(c);
  return right;
}

static inline void verdict_of(const char* what, int right) {
  verdict(what, right == PRODUCT_CALLS);
}
