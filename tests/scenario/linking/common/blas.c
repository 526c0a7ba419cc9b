// A BLAS with one routine. Like real routines, it calls another function of its library, and one of another library if
// an argument is invalid. GEMM: the name of the routine.
#include <stddef.h>
#include <stdlib.h>

#ifndef GEMM
#define GEMM dgemm_
#endif

void toy_column(int m, int k, double alpha, const double* a, int lda, const double* b, size_t stride, double* column);
void GEMM(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
          const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
          const int* ldc);

__attribute__((noinline, visibility("hidden"))) void toy_column(int m, int k, double alpha, const double* a, int lda,
                                                                const double* b, size_t stride, double* column) {
  for (int l = 0; l < k; ++l) {
    const double factor = alpha * b[l * stride];
    for (int i = 0; i < m; ++i) column[i] += factor * a[i + (size_t)l * lda];
  }
}

void GEMM(const char* transa, const char* transb, const int* m, const int* n, const int* k, const double* alpha,
          const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
          const int* ldc) {
  const int transposed = *transb != 'N';
  if (*transa != 'N') abort();  // these programs do not need it
  for (int j = 0; j < *n; ++j) {
    double* const column = &c[(size_t)j * *ldc];
    for (int i = 0; i < *m; ++i) column[i] = *beta == 0 ? 0 : *beta * column[i];
    toy_column(*m, *k, *alpha, a, *lda, transposed ? &b[j] : &b[(size_t)j * *ldb], transposed ? (size_t)*ldb : 1,
               column);
  }
}
