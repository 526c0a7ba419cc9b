// Factorizations of matrices whose contents are on the device alone: one that succeeds, and one that fails, which the
// CPU then makes with the same contents.

#include "scenario.h"

void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info);

enum { N = 512, NEGATIVE = 300 };

// A Cholesky factorization as in a textbook. Returns LAPACK's info.
static int factorize_here(double* a) {
  for (int j = 0; j < N; ++j) {
    double* const column = a + (size_t)j * N;
    for (int k = 0; k < j; ++k)
      for (int i = j; i < N; ++i) column[i] -= a[i + (size_t)k * N] * a[j + (size_t)k * N];
    if (!(column[j] > 0)) return j + 1;
    const double root = sqrt(column[j]);
    for (int i = j; i < N; ++i) column[i] /= root;
  }
  return 0;
}

/// The lower triangle of a symmetric matrix that is positive but for one element, and the same computed here.
static void make(const double* a, const double* b, double* matrix, double* expected) {
  memset(expected, 0, sizeof(double) * N * N);
  for (int j = 0; j < N; ++j)
    for (int l = 0; l < N; ++l)
      for (int i = 0; i < N; ++i) expected[i + (size_t)j * N] += a[i + (size_t)l * N] * b[l + (size_t)j * N];
  multiply(N, N, N, a, N, b, N, 0.0, matrix, N);
}

static int lower_agrees(const double* matrix, const double* expected) {
  int right = 1;
  for (int j = 0; j < N; ++j)
    for (int i = j; i < N; ++i) right &= fabs(matrix[i + (size_t)j * N] - expected[i + (size_t)j * N]) <= 1e-9;
  return right;
}

int main(void) {
  const int n = N;
  double* const a = filled((size_t)N * N, 1);
  double* const b = calloc((size_t)N * N, sizeof(double));
  double* const expected = malloc(sizeof(double) * N * N);
  for (int negative = 0; negative <= 1; ++negative) {
    // a is symmetric and its diagonal large; b is the unit matrix, or has one element of the other sign.
    for (int j = 0; j < N; ++j) {
      for (int i = 0; i < j; ++i) a[i + (size_t)j * N] = a[j + (size_t)i * N];
      a[j + (size_t)j * N] = 4 * N;
      b[j + (size_t)j * N] = negative && j == NEGATIVE ? -1 : 1;
    }
    double* const matrix = mapped_doubles((size_t)N * N);
    int info = -1;
    make(a, b, matrix, expected);
    dpotrf_("L", &n, matrix, &n, &info);
    const int expected_info = factorize_here(expected);
    printf("info %d\n", info);
    verdict("what the factorization says", info == expected_info);
    // What a factorization leaves behind that fails is the library's own affair.
    double sum = 0;
    for (int j = 0; j < N; ++j)
      for (int i = j; i < N; ++i) sum += (1 + (i + 2 * j) % 5) * matrix[i + (size_t)j * N];
    printf("sum %.5e\n", sum);
    if (!negative) verdict("what it has factorized", lower_agrees(matrix, expected));
    int upper = 1;
    for (int j = 0; j < N; ++j)
      for (int i = 0; i < j; ++i)
        upper &= fabs(matrix[i + (size_t)j * N] - (negative && j == NEGATIVE ? -1 : 1) * a[i + (size_t)j * N]) <= 1e-9;
    verdict("the other triangle", upper);
  }
  return scenario_status();
}
