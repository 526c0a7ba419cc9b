// A BLAS with two versions of dgemm_: an old one, for programs that were linked with it, and a new one.
#define GEMM new_dgemm
#include "../common/blas.c"
#undef GEMM

__typeof__(new_dgemm) old_dgemm;

void old_dgemm(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
               const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
               const int* ldc) {
  new_dgemm(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
  c[0] += 0.0;
}

__asm__(".symver old_dgemm, dgemm_@V1");
__asm__(".symver new_dgemm, dgemm_@@V2");
