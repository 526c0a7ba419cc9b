// Norms of a matrix that stays on the device, of its triangle, and of a matrix that was never there.

#include "scenario.h"

double dlange_(const char* norm, const int* m, const int* n, const double* a, const int* lda, double* work, size_t);
double dlansy_(const char* norm, const char* uplo, const int* n, const double* a, const int* lda, double* work, size_t,
               size_t);
float slange_(const char* norm, const int* m, const int* n, const float* a, const int* lda, float* work, size_t);

enum { N = 512, K = 32 };
static double work[N], rows[N], columns[N], mirrored[N];

static double largest(const double* values) {
  double most = 0;
  for (int i = 0; i < N; ++i) most = fmax(most, values[i]);
  return most;
}

static int close(double found, double expected) {
  return fabs(found - expected) <= 1e-12 * expected;
}

int main(void) {
  const int n = N;
  const double* const a = filled((size_t)N * K, 1);
  const double* const b = filled((size_t)K * N, 2);
  double* const matrix = mapped_doubles((size_t)N * N);
  multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
  multiply(N, N, K, a, N, b, K, 1.0, matrix, N);
  const double found[] = {dlange_("M", &n, &n, matrix, &n, work, 1),     dlange_("1", &n, &n, matrix, &n, work, 1),
                          dlange_("I", &n, &n, matrix, &n, work, 1),     dlange_("F", &n, &n, matrix, &n, work, 1),
                          dlansy_("O", "U", &n, matrix, &n, work, 1, 1), dlansy_("F", "L", &n, matrix, &n, work, 1, 1)};
  double most = 0, squares = 0, lower = 0;
  for (int j = 0; j < N; ++j)
    for (int i = 0; i < N; ++i) {
      const double element = fabs(matrix[i + (size_t)j * N]);
      most = fmax(most, element);
      squares += element * element;
      columns[j] += element;
      rows[i] += element;
      if (i <= j) mirrored[j] += element;
      if (i < j) mirrored[i] += element;
      if (i >= j) lower += (i > j ? 2 : 1) * element * element;
    }
  verdict("the largest element", found[0] == most);
  verdict("sums of columns", close(found[1], largest(columns)));
  verdict("sums of rows", close(found[2], largest(rows)));
  verdict("all squares", close(found[3], sqrt(squares)));
  verdict("sums of a symmetric matrix", close(found[4], largest(mirrored)));
  verdict("squares of a symmetric matrix", close(found[5], sqrt(lower)));

  float* const other = malloc(sizeof(float) * N * N);
  for (int i = 0; i < N * N; ++i) other[i] = -0.25f;
  other[7] = 3;
  verdict("a float of a matrix that was never there", slange_("M", &n, &n, other, &n, (float*)work, 1) == 3);
  return scenario_status();
}
