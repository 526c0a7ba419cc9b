// Calls the functions of more_arguments.c.
#include "more_arguments.h"

#include <stdio.h>

static int notes;

// The functions call this one, since a function can be patched only if it contains a call.
void note(void) {
  ++notes;
}

static void verdict(const char* what, int right) {
  printf("%s: %s\n", what, right ? "right" : "WRONG");
}

enum { N = 32 };
static double a[N * N], b[N * N], c[N * N], x[N], y[N];
static const int order = N, step = 1;
static const double one = 1, zero = 0, shift = 7;

static void matrices(void) {
  int info = 0, rank = 0;
  double sum = 0;
  dgemm_("N", "N", &order, &order, &order, &one, a, &order, b, &order, &zero, c, &order, &shift, &info);
  verdict("dgemm_", c[0] == 2 * N + shift && c[N * N - 1] == 2 * N && info == 5);
  dpotrf_("U", &order, c, &order, &info, &one, &rank);
  verdict("dpotrf_", info == 0 && rank == N && c[0] == 2 * N + shift + 1);
  cblas_dgemv(102, 111, N, N, 1, a, N, x, 1, 0, y, 1, &sum);
  verdict("cblas_dgemv", y[N - 1] == 3 * N && sum == 3 * N * N);
  verdict("dgemm_64", dgemm_64(a, b, c, 4) == 9 && c[0] == 8);
  verdict("dpotrf_64_", dpotrf_64_(c, 2.5, 9) == 11.5 && c[9] == 2.5);
  verdict("pdgemm_", pdgemm_(a, b, &order, 0.5) == N);
}

static void vectors(void) {
  const double half = 0.5;
  double sum = 0;
  dcopy_(&order, x, &step, y, &step, &sum);
  verdict("dcopy_", y[N - 1] == 3 && sum == 3 * N);
  verdict("dscal_", dscal_(&order, &half, y, &step) == 1.5 * N && y[0] == 1.5);
}

static void transforms(void) {
  double left = 0;
  struct plan* const plan = fftw_plan_dft_1d(N, x, y, 0.25);
  verdict("fftw_execute", fftw_execute(plan, 4) == 4 && y[N - 1] == 3);
  verdict("fftw_destroy_plan", fftw_destroy_plan(plan, &left) == 3 && left == 0.25);
  verdict("DftiComputeForward", DftiComputeForward(x, x, y, 2.5) == 2.5 && y[0] == 7.5);
}

int main(void) {
  for (int i = 0; i < N * N; ++i) a[i] = 1, b[i] = 2;
  for (int i = 0; i < N; ++i) x[i] = 3;
  matrices();
  vectors();
  transforms();
  return 0;
}
