// A CBLAS that passes column-major calls on to Fortran, and a program's calls of it.
#include "product.h"

enum { COLUMN_MAJOR = 102, NO_TRANSPOSE = 111 };

void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc);

#ifdef WRAPPER
void cblas_dgemm(int order, int transa, int transb, int m, int n, int k, double alpha, const double* a, int lda,
                 const double* b, int ldb, double beta, double* c, int ldc) {
  if (order != COLUMN_MAJOR || transa != NO_TRANSPOSE || transb != NO_TRANSPOSE) return;
  dgemm_("N", "N", &m, &n, &k, &alpha, a, &lda, b, &ldb, &beta, c, &ldc);
  (void)c[0];
}
#else
static void through_cblas(const char* transa, const char* transb, const int* m, const int* n, const int* k,
                          const double* alpha, const double* a, const int* lda, const double* b, const int* ldb,
                          const double* beta, double* c, const int* ldc) {
  (void)transa, (void)transb;
  cblas_dgemm(COLUMN_MAJOR, NO_TRANSPOSE, NO_TRANSPOSE, *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

int main(void) {
  verdict_of("products of CBLAS", right_products(through_cblas));
  return scenario_status();
}
#endif
