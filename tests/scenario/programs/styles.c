// Different ways to call a BLAS. Usage: styles CASE
#define _GNU_SOURCE
#include <dlfcn.h>

#include "scenario.h"

typedef void Gemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                  const int*, const double*, const int*, const double*, double*, const int*);
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);

enum { N = 80, COUNT = N * N };
static double *a, *b, *c;

static int computes(Gemm* gemm) {
  const int n = N;
  const double one = 1.0, zero = 0.0;
  gemm("N", "N", &n, &n, &n, &one, a, &n, b, &n, &zero, c, &n);
  return holds_product(N, N, N, a, N, b, N, 0.0, NULL, c, N);
}

static void function_pointers(void) {
  Gemm* volatile taken = dgemm_;
  verdict("a function pointer", computes(taken));
  verdict("dlsym(RTLD_DEFAULT)", computes((Gemm*)dlsym(RTLD_DEFAULT, "dgemm_")));
  verdict("dlsym(RTLD_NEXT)", computes((Gemm*)dlsym(RTLD_NEXT, "dgemm_")));
}

static void cblas(void) {
  cblas_dgemm(102, 111, 111, N, N, N, 1.0, a, N, b, N, 0.0, c, N);
  verdict("cblas, column-major", holds_product(N, N, N, a, N, b, N, 0.0, NULL, c, N));
  cblas_dgemm(101, 111, 111, N, N, N, 1.0, b, N, a, N, 0.0, c, N);
  verdict("cblas, row-major", holds_product(N, N, N, a, N, b, N, 0.0, NULL, c, N));
}

static const struct scenario_case cases[] = {
    {"pointers", function_pointers},
    {"cblas", cblas},
};

int main(int argc, char** argv) {
  a = filled(COUNT, 1);
  b = filled(COUNT, 2);
  c = filled(COUNT, 3);
  return run_scenario(cases, sizeof cases / sizeof *cases, argc > 1 ? argv[1] : "");
}
