// Calls the functions of foreign.c.
#include <stdio.h>

#include "foreign.h"

int foreign_run(void);

static int notes;

// The functions call this one, since a function can be patched only if it contains a call.
void note(void) {
  ++notes;
}

static void verdict(const char* what, int right) {
  printf("%s: %s\n", what, right ? "right" : "WRONG");
}

enum { N = 300 };
static double packed[N * (N + 1) / 2], rows[2 * N], square[N * N], more[N];
static float singles[N];
static int pivots[N];

static void linear_algebra(void) {
  const int m = N, columns = 2;
  const double eps = 1e-12;
  double aux[N];
  int marks[4] = {1, 2, 3, 4}, ier = 7, count = N;
  for (int i = 0; i < N * (N + 1) / 2; ++i) packed[i] = 2;
  for (int i = 0; i < 2 * N; ++i) rows[i] = i;
  dgels_(rows, packed, &m, &columns, &eps, &ier, aux);
  verdict("dgels_", rows[N] == N / 2 && ier == 0 && aux[N - 1] == 2 && marks[3] == 4);
  for (int i = 0; i < N; ++i) singles[i] = 2;
  spotrf_(singles, &count);
  verdict("spotrf_", singles[0] == 1 && singles[N - 1] == 1);
  verdict("zgeev_", zgeev_(21) == 42);
}

static void products(void) {
  const long count = N;
  double a[4] = {1, 2, 3, 4}, c[4] = {0}, y[2] = {0};
  verdict("dgemm_", dgemm_(c, a, 4) == 4 && c[3] == 4);
  const struct product product = zgemm_(3, 4);
  verdict("zgemm_", product.times == 12 && product.plus == 7);
  verdict("ssyrk_", ssyrk_(singles, &count, 2) == 2 * N);
  dtrsm_(2, 1.0, 2.0);
  verdict("cblas_dgemm", cblas_dgemm(a, 4) == 4);
  verdict("cblas_dgemv", cblas_dgemv(2, 2, a, a, y) == 2 && y[0] == 7 && y[1] == 10);
  verdict("dgemv", dgemv(2, a, 4) == 8);
}

static void wrappers(void) {
  for (int i = 0; i < N * N; ++i) square[i] = 3;
  verdict("dgetrf", dgetrf(N, N, square, N, pivots) == 0 && pivots[N - 1] == 3);
  verdict("dpotrf", dpotrf('U', N, square, N) == N && square[0] == 'U');
  verdict("dgeqrf", dgeqrf(N, N, square, N, more) == 0 && more[1] == N + 3);
  verdict("dsyev", dsyev('V', 'U', N, square, N, more) == N && more[0] == 'U' + 'V' + 'U');
}

int foreign_run(void) {
  linear_algebra();
  products();
  wrappers();
  return 0;
}

#ifndef PLUGIN
int main(void) {
  return foreign_run();
}
#endif
