// Products of one matrix with a new vector in every call, as in an iterative solver:
//   matrix_vector unchanged|rewritten CALLS
// The matrix does not change, or the program rewrites all of it before each call. A product of matrices comes first.
//   matrix_vector pages
// Complex matrices of a few rows, and vectors that fill whole pages.
#include <complex.h>

#include "scenario.h"

void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);

void zgemv_(const char*, const int*, const int*, const double complex*, const double complex*, const int*,
            const double complex*, const int*, const double complex*, double complex*, const int*);

enum { order = 2100, small = 300 };

static void open_device(void) {
  double* a = calloc(small * small, sizeof *a);
  double* c = calloc(small * small, sizeof *c);
  const double one = 1, zero = 0;
  const int n = small;
  dgemm_("N", "N", &n, &n, &n, &one, a, &n, a, &n, &zero, c, &n);
  free(a);
  free(c);
}

// Row i holds i mod 7 + step in every column.
static void write_matrix(double* a, int step) {
  for (int j = 0; j < order; ++j)
    for (int i = 0; i < order; ++i) a[(size_t)j * order + (size_t)i] = i % 7 + step;
}

static int whole_pages(void) {
  const double complex one = 1, zero = 0;
  int wrong = 0, calls = 0;
  for (int n = 256; n <= 1536; n += 256) {
    double complex* const a = malloc(sizeof *a * 16 * (size_t)n);
    double complex* const x = malloc(sizeof *x * 2 * (size_t)n);
    double complex* const y = malloc(sizeof *y * 2 * (size_t)n);
    for (int i = 0; i < 16 * n; ++i) a[i] = 1;
    for (int i = 0; i < 2 * n; ++i) x[i] = 1;
    for (int m = 1; m <= 16; ++m)
      for (int increment = 1; increment <= 2; ++increment) {
        zgemv_("N", &m, &n, &one, a, &m, x, &increment, &zero, y, &increment);
        for (int i = 0; i < m; ++i) wrong += y[i * increment] != n;
        zgemv_("C", &m, &n, &one, a, &m, x, &increment, &zero, y, &increment);
        for (int j = 0; j < n; ++j) wrong += y[j * increment] != m;
        calls += 2;
      }
    free(a);
    free(x);
    free(y);
  }
  printf("%d calls, %d wrong\n", calls, wrong);
  return wrong != 0;
}

int main(int count, char** arguments) {
  if (count == 2 && strcmp(arguments[1], "pages") == 0) return whole_pages();
  if (count != 3) return 2;
  const int rewritten = strcmp(arguments[1], "rewritten") == 0;
  const int calls = atoi(arguments[2]);
  double* a = malloc(sizeof *a * order * order);
  double* x = malloc(sizeof *x * order);
  double* y = malloc(sizeof *y * order);
  const double one = 1, zero = 0;
  const int n = order, increment = 1;
  open_device();
  write_matrix(a, 0);
  for (int call = 0; call < calls; ++call) {
    const int step = rewritten ? call : 0;
    if (rewritten) write_matrix(a, step);
    for (int j = 0; j < order; ++j) x[j] = call + 1;
    dgemv_("N", &n, &n, &one, a, &n, x, &increment, &zero, y, &increment);
    for (int i = 0; i < order; ++i) {
      const double expected = (double)order * (call + 1) * (i % 7 + step);
      if (y[i] != expected) {
        printf("call %d: y[%d] is %g instead of %g\n", call, i, y[i], expected);
        return 1;
      }
    }
  }
  printf("%d calls right\n", calls);
  return 0;
}
