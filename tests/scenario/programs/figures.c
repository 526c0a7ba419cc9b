// All kinds of calls: small calls, calls with nothing to compute, calls with invalid arguments, large calls, and, with
// LAPACK, calls inside another call. Usage: figures [reuse|square N]. With "reuse", only N products of the same two
// matrices, which lie on separate pages; with "square", only N products of one matrix with itself.
#include "scenario.h"

void dgemv_(const char*, const int*, const int*, const double*, const double*, const int*, const double*, const int*,
            const double*, double*, const int*);
#ifdef WITH_LAPACK
void dpotrf_(const char*, const int*, double*, const int*, int*);
#endif

enum { order = 160 };

/// Replaces the BLAS's xerbla_, which ends the program.
void xerbla_(const char* name, const int* argument, size_t length) {
  (void)name, (void)argument, (void)length;
}

static double* pages(unsigned seed) {
  double* matrix = aligned_alloc(4096, order * order * sizeof(double));
  if (!matrix) abort();
  fill(matrix, order * order, seed);
  return matrix;
}

static int use_again(int times, int square) {
  double *a = pages(1), *b = square ? a : pages(2), *c = pages(3);
  for (int i = 0; i < times; ++i) multiply(order, order, order, a, order, b, order, 0, c, order);
  verdict("the last product", holds_product(order, order, order, a, order, b, order, 0, NULL, c, order));
  free(a);
  if (!square) free(b);
  free(c);
  return scenario_status();
}

int main(int argc, char** argv) {
  if (argc > 2) return use_again(atoi(argv[2]), strcmp(argv[1], "square") == 0);
  double* a = filled(order * order, 1);
  double* b = filled(order * order, 2);
  double* c = filled(order * order, 3);
  const int n = order, few = 12, none = 0, increment = 1;
  const double one = 1, zero = 0;
  for (int i = 0; i < 300; ++i) multiply(few, few, few, a, n, b, n, 0, c, n);
  for (int i = 0; i < 40; ++i) {
    multiply(70, 70, 70, a, n, b, n, 0, c, n);
    multiply(order - i, order, order, a, n, b, n, 1, c, n);
    dgemm_("N", "N", &n, &n, &none, &one, a, &n, b, &n, &zero, c, &n);
    dgemm_("N", "N", &n, &n, &n, &zero, a, &n, b, &n, &one, c, &n);
    dgemv_("N", &n, &n, &one, a, &n, b, &increment, &zero, c, &increment);
    dgemv_("T", &few, &few, &one, a, &n, b, &increment, &zero, c, &increment);
    dgemv_("?", &few, &few, &one, a, &n, b, &increment, &zero, c, &increment);
    dgemv_("T", &few, &few, &one, a, &n, b, &none, &zero, c, &increment);
    dgemm_("?", "N", &few, &few, &few, &one, a, &n, b, &n, &zero, c, &n);
    dgemm_("N", "N", &few, &few, &few, &one, a, &few, b, &none, &zero, c, &few);
  }
#ifdef WITH_LAPACK
  for (int i = 0; i < 4; ++i) {
    fill(a, order * order, 4);
    for (int j = 0; j < order; ++j) a[j + j * order] += 2 * order;
    int info = -1;
    dpotrf_("L", &n, a, &n, &info);
    verdict("factorised", info == 0);
  }
#endif
  free(a);
  free(b);
  free(c);
  return scenario_status();
}
