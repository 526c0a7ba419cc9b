// The toy BLAS, which counts its calls.
#include <stdlib.h>

#define GEMM toy_dgemm
// Hidden, so that code which reads dgemm_ can follow the call.
#pragma GCC visibility push(hidden)
#include "../common/blas.c"
#pragma GCC visibility pop

int blas_calls(void);
void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc);

static int calls;

int blas_calls(void) {
  return calls;
}

void dgemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
            const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
            const int* ldc) {
  ++calls;
  toy_dgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}
