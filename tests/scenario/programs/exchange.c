// Row exchanges in a matrix whose results stay on the device, in one that the program has looked at, and in one that
// was never there.

#include "scenario.h"

void dlaswp_(const int* n, double* a, const int* lda, const int* k1, const int* k2, const int* pivots, const int* incx);

enum { N = 512, K = 32, FIRST = 3, LAST = 60 };
static int pivots[LAST];

static void exchange(double* matrix, int incx) {
  const int n = N, first = FIRST, last = LAST;
  dlaswp_(&n, matrix, &n, &first, &last, pivots, &incx);
}

static void exchange_here(double* matrix, int incx) {
  for (int step = FIRST; step <= LAST; ++step) {
    const int row = incx > 0 ? step : LAST + FIRST - step;
    for (int j = 0; j < N; ++j) {
      double* const column = matrix + (size_t)j * N;
      const double kept = column[row - 1];
      column[row - 1] = column[pivots[row - 1] - 1];
      column[pivots[row - 1] - 1] = kept;
    }
  }
}

int main(void) {
  const double* const a = filled((size_t)N * K, 1);
  const double* const b = filled((size_t)K * N, 2);
  for (int i = 0; i < LAST; ++i) pivots[i] = i + 1 + (i * 37) % (N - i);
  double* const matrix = mapped_doubles((size_t)N * N);
  double* const expected = calloc((size_t)N * N, sizeof(double));
  double* const product = calloc((size_t)N * N, sizeof(double));
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i)
      for (int l = 0; l < K; ++l) product[i + j * N] += a[i + l * N] * b[l + j * K];
  for (int incx = 1; incx >= -1; incx -= 2) {
    multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
    for (size_t i = 0; i < (size_t)N * N; ++i) expected[i] += product[i];
    exchange(matrix, incx);
    exchange_here(expected, incx);
  }
  multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
  int right = 1;
  for (size_t i = 0; i < (size_t)N * N; ++i) right &= fabs(matrix[i] - expected[i] - product[i]) <= 1e-10;
  verdict("a matrix that stays", right);

  memcpy(expected, matrix, sizeof(double) * N * N);
  for (int j = 0; j < N; ++j) matrix[N / 2 + (size_t)j * N] = expected[N / 2 + (size_t)j * N] = j;
  exchange(matrix, 1);
  exchange_here(expected, 1);
  verdict("a matrix that the program has written", memcmp(matrix, expected, sizeof(double) * N * N) == 0);

  double* const other = mapped_doubles((size_t)N * N);
  fill(other, (size_t)N * N, 3);
  memcpy(expected, other, sizeof(double) * N * N);
  exchange(other, -1);
  exchange_here(expected, -1);
  verdict("a matrix that was never there", memcmp(other, expected, sizeof(double) * N * N) == 0);
  return scenario_status();
}
