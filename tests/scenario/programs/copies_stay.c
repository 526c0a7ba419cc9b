// Copies of a matrix that stays on the device, of its triangle, and of a matrix that was never there.

#include "scenario.h"

void dlacpy_(const char* uplo, const int* m, const int* n, const double* a, const int* lda, double* b, const int* ldb,
             size_t length);

enum { N = 512, K = 32 };

static void copy(char uplo, const double* from, double* to) {
  const int n = N;
  dlacpy_(&uplo, &n, &n, from, &n, to, &n, 1);
}

int main(void) {
  const double* const a = filled((size_t)N * K, 1);
  const double* const b = filled((size_t)K * N, 2);
  double* const matrix = mapped_doubles((size_t)N * N);
  double* const whole = mapped_doubles((size_t)N * N);
  double* const upper = mapped_doubles((size_t)N * N);
  for (int round = 0; round < 2; ++round) {
    multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
    copy('A', matrix, whole);
    copy('U', matrix, upper);
  }
  int same = 1, triangle = 1;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) {
      const size_t at = i + (size_t)j * N;
      same &= whole[at] == matrix[at];
      triangle &= upper[at] == (i <= j ? matrix[at] : 0);
    }
  verdict("a copy of a matrix that stays", same);
  verdict("a copy of its triangle", triangle);

  double* const other = mapped_doubles((size_t)N * N);
  fill(other, (size_t)N * N, 3);
  copy('A', other, whole);
  verdict("a copy of a matrix that was never there", memcmp(other, whole, sizeof(double) * N * N) == 0);
  return scenario_status();
}
