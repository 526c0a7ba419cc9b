/* The program that the pages call ./a.out, ./app or ./scf: products of matrices that stay as they are, and some small
 * ones. */
#include <stdio.h>
#include <stdlib.h>

void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);

static void multiply(int n, int times, double* a, double* c) {
  const double one = 1, none = 0;
  for (int i = 0; i < times; ++i) dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &none, c, &n);
}

int main(void) {
  const int n = 300;
  double* a = malloc(sizeof(double) * n * n);
  double* c = malloc(sizeof(double) * n * n);
  for (int i = 0; i < n * n; ++i) a[i] = (double)(i % 17) / 17;
  multiply(n, 20, a, c);
  multiply(20, 100, a, c);
  printf("%g\n", c[0]);
  return 0;
}
