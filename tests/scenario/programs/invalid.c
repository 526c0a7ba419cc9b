// Arguments that the standard forbids. The original reports them, which ends the program with the reference BLAS.
// Usage: invalid CASE
#include "scenario.h"

enum Order { row_major = 101, column_major = 102 };
enum { no_transpose = 111, nonsense = 7 };
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);
void dtrsm_(const char*, const char*, const char*, const char*, const int*, const int*, const double*, const double*,
            const int*, double*, const int*);

static double a[64 * 64], b[64 * 64], c[64 * 64];

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const int n = 64, small = 63, negative = -1;
  const double one = 1.0;
  fill(a, 64 * 64, 1);
  fill(b, 64 * 64, 2);
  verdict("a valid call first", multiplies(n, n, n, a, n, b, n, 0.0, c, n));
  if (!strcmp(name, "letter"))
    dgemm_("N", "X", &n, &n, &n, &one, a, &n, b, &n, &one, c, &n);
  else if (!strcmp(name, "size"))
    dgemm_("N", "N", &n, &negative, &n, &one, a, &n, b, &n, &one, c, &n);
  else if (!strcmp(name, "leading-dimension"))
    dgemm_("N", "T", &n, &n, &n, &one, a, &n, b, &n, &one, c, &small);
  else if (!strcmp(name, "side"))
    dtrsm_("Q", "U", "N", "N", &n, &n, &one, a, &n, c, &n);
  else if (!strcmp(name, "cblas-option"))
    cblas_dgemm(column_major, nonsense, no_transpose, n, n, n, one, a, n, b, n, one, c, n);
  else if (!strcmp(name, "cblas-order"))
    cblas_dgemm(nonsense, no_transpose, no_transpose, n, n, n, one, a, n, b, n, one, c, n);
  else if (!strcmp(name, "cblas-row-major"))
    cblas_dgemm(row_major, no_transpose, no_transpose, n, n, n, one, a, small, b, n, one, c, n);
  else
    return 99;
  verdict("after it", multiplies(n, n, n, a, n, b, n, 0.0, c, n));
  return scenario_status();
}
