// A program with a BLAS, and with its own function that has the name of a LAPACK routine.
#include "product.h"

void dgels_(double* r, const double* a, const int* n, int* ier);

__attribute__((noinline)) void dgels_(double* r, const double* a, const int* n, int* ier) {
  *ier = 0;
  for (int i = 0; i < *n; ++i) r[i] /= a[i];
  if (*n < 0) abort();
}

int main(void) {
  double r[4] = {2, 4, 6, 8};
  const double a[4] = {2, 2, 2, 2};
  const int n = 4;
  int ier = 7;
  dgels_(r, a, &n, &ier);
  verdict("its own dgels_", r[3] == 4 && ier == 0);
  verdict_of("products", right_products(dgemm_));
  return scenario_status();
}
