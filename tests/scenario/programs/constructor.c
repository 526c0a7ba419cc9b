// A library whose constructor calls BLAS, inside dlopen() and under the lock of the dynamic linker.
#include "scenario.h"

__attribute__((constructor)) static void call(void) {
  enum { n = 64 };
  double* a = filled(n * n, 1);
  double* b = filled(n * n, 2);
  double* c = filled(n * n, 3);
  multiply(n, n, n, a, n, b, n, 0.0, c, n);
  verdict("product", holds_product(n, n, n, a, n, b, n, 0.0, NULL, c, n));
}
