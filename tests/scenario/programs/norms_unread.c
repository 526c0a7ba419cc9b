// Norms of products in new memory, at which the program never looks itself.
#include <sys/mman.h>

#include "scenario.h"

double dlange_(const char* norm, const int* m, const int* n, const double* a, const int* lda, double* work, size_t);

enum { N = 1450, ROUNDS = 8 };  // the smallest results that stay by themselves have 16 MiB
static double column[N], row[N], work[N];

int main(void) {
  const int n = N;
  const size_t bytes = sizeof(double) * N * N;
  double rows = 0, columns = 0, row_squares = 0, column_squares = 0;
  for (int i = 0; i < N; ++i) {
    column[i] = i % 7;
    row[i] = -i % 5;
    columns += i % 7;
    rows += i % 5;
    column_squares += (i % 7) * (i % 7);
    row_squares += (i % 5) * (i % 5);
  }
  const double expected[] = {6 * 4, 4 * columns, 6 * rows, sqrt(column_squares * row_squares)};
  int right = 1;
  for (int round = 0; round < ROUNDS; ++round) {
    double* const product = mapped_doubles(bytes / sizeof(double));
    multiply(N, N, 1, column, N, row, 1, 0.0, product, N);
    const double found = dlange_(&"M1IF"[round % 4], &n, &n, product, &n, work, 1);
    right &= fabs(found - expected[round % 4]) <= 1e-12 * found;
    munmap(product, bytes);
  }
  verdict("norms", right);
  return scenario_status();
}
