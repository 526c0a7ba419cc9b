// An LU factorization in blocks, whose rows are exchanged by dswap one after the other, and the solution that it gives.
//   row_swaps              the panels are factored by dgetrf
//   row_swaps looks        the same; the program looks at a column after each step

#include "scenario.h"

void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dswap_(const int* n, double* x, const int* incx, double* y, const int* incy);
void dtrsm_(const char* side, const char* uplo, const char* trans, const char* diag, const int* m, const int* n,
            const double* alpha, const double* a, const int* lda, double* b, const int* ldb);

enum { N = 512, WIDTH = 64 };
static double* matrix;

static double* at(int row, int column) {
  return matrix + row + (size_t)column * N;
}

static void exchange(int row, int other, int first, int last) {
  const int count = last - first, stride = N;
  if (count > 0 && row != other) dswap_(&count, at(row, first), &stride, at(other, first), &stride);
}

int main(int count, char** arguments) {
  const int looks = count > 1 && strcmp(arguments[1], "looks") == 0, n = N, width = WIDTH;
  const double one = 1, minus_one = -1;
  double *const before = filled((size_t)N * N, 1), *const right_side = calloc(N, sizeof(double));
  int pivots[N], right = 1;
  matrix = mapped_doubles((size_t)N * N);
  memcpy(matrix, before, sizeof(double) * N * N);
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) right_side[i] += before[i + (size_t)j * N] * (1 + j % 7);
  for (int k = 0; k < N; k += WIDTH) {
    const int rows = N - k, rest = rows - WIDTH;
    int info = 0;
    dgetrf_(&rows, &width, at(k, k), &n, pivots + k, &info);
    if (info != 0) return 97;
    for (int i = k; i < k + WIDTH; ++i) {
      pivots[i] += k - 1;
      exchange(i, pivots[i], 0, k);
      exchange(i, pivots[i], k + WIDTH, N);
    }
    if (rest > 0) {
      dtrsm_("L", "L", "N", "U", &width, &rest, &one, at(k, k), &n, at(k, k + WIDTH), &n);
      dgemm_("N", "N", &rest, &rest, &width, &minus_one, at(k + WIDTH, k), &n, at(k, k + WIDTH), &n, &one,
             at(k + WIDTH, k + WIDTH), &n);
    }
    for (int i = 0; looks && i < N; ++i) right &= isfinite(*at(i, N - 1)) != 0;
  }
  for (int i = 0; i < N; ++i) {
    const double kept = right_side[i];
    right_side[i] = right_side[pivots[i]];
    right_side[pivots[i]] = kept;
  }
  for (int j = 0; j < N; ++j)
    for (int i = j + 1; i < N; ++i) right_side[i] -= *at(i, j) * right_side[j];
  for (int j = N - 1; j >= 0; --j) {
    right_side[j] /= *at(j, j);
    for (int i = 0; i < j; ++i) right_side[i] -= *at(i, j) * right_side[j];
  }
  for (int i = 0; i < N; ++i) right &= fabs(right_side[i] - (1 + i % 7)) <= 1e-8;
  verdict("the solution", right);
  return scenario_status();
}
