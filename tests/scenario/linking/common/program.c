// A program that was linked with a BLAS.
#include "product.h"

int main(void) {
  const int n = PRODUCT_SIZE, count = n * n;
  double* const a = filled(count, 1);
  double* const b = filled(count, 2);
  double* const c = filled(count, 3);
  for (int call = 0; call < PRODUCT_CALLS; ++call) {
    a[call] += 1.0;
    verdict("a product", multiplies(n, n, n, a, n, b, n, 0.0, c, n));
  }
  free(a);
  free(b);
  free(c);
  return scenario_status();
}
