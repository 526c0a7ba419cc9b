// Makes products by Fortran BLAS names from C; the simulated device verifies them. Ends with 0 if the last one is
// right.
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*, size_t, size_t);

int main(void) {
  const int n = 300;
  const double one = 1;
  const double zero = 0;
  double* a = malloc(sizeof(double) * n * n);
  double* c = malloc(sizeof(double) * n * n);
  for (int i = 0; i < n * n; ++i) a[i] = i % n == i / n ? 2 : 0;
  for (int call = 0; call < 4; ++call) dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n, 1, 1);
  int wrong = 0;
  for (int i = 0; i < n * n; ++i) wrong += c[i] != (i % n == i / n ? 4 : 0);
  printf("%d wrong\n", wrong);
  return wrong > 0;
}
