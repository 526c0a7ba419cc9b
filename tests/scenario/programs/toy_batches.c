// A BLAS with products and solves, and with batches of both as MKL has them, in plain loops. Like real routines, each
// calls another library if a size is invalid.
#include <stddef.h>
#include <stdlib.h>

enum { row_major = 101, no_transpose = 111, upper = 121, unit = 132, left = 141 };

static double at(const double* matrix, int transposed, int leading, int i, int j) {
  return transposed ? matrix[j + (size_t)i * leading] : matrix[i + (size_t)j * leading];
}

// Inline, so that the code of each function shows what it does with its arguments.
static inline __attribute__((always_inline)) void multiply(int ta, int tb, int m, int n, int k, double alpha,
                                                           const double* a, int lda, const double* b, int ldb,
                                                           double beta, double* c, int ldc) {
  if (m < 0 || n < 0 || k < 0) abort();
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      double sum = 0;
      for (int l = 0; l < k; ++l) sum += at(a, ta, lda, i, l) * at(b, tb, ldb, l, j);
      double* const element = &c[i + (size_t)j * ldc];
      *element = alpha * sum + (beta == 0 ? 0 : beta * *element);
    }
}

#define SHOWN __attribute__((visibility("default"))) void

SHOWN dgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
             const double* a, const int* lda, const double* b, const int* ldb, const double* beta, double* c,
             const int* ldc) {
  multiply(*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a, *lda, b, *ldb, *beta, c, *ldc);
}

SHOWN cblas_dgemm(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
                  const double* b, int ldb, double beta, double* c, int ldc) {
  if (order == row_major)
    multiply(tb != no_transpose, ta != no_transpose, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc);
  else
    multiply(ta != no_transpose, tb != no_transpose, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

SHOWN dgemm_batch_strided_(const char* ta, const char* tb, const int* m, const int* n, const int* k,
                           const double* alpha, const double* a, const int* lda, const int* stride_a, const double* b,
                           const int* ldb, const int* stride_b, const double* beta, double* c, const int* ldc,
                           const int* stride_c, const int* products) {
  for (size_t i = 0; i < (size_t)*products; ++i)
    multiply(*ta != 'N', *tb != 'N', *m, *n, *k, *alpha, a + i * *stride_a, *lda, b + i * *stride_b, *ldb, *beta,
             c + i * *stride_c, *ldc);
}

SHOWN cblas_dgemm_batch_strided(int order, int ta, int tb, int m, int n, int k, double alpha, const double* a, int lda,
                                int stride_a, const double* b, int ldb, int stride_b, double beta, double* c, int ldc,
                                int stride_c, int products) {
  for (size_t i = 0; i < (size_t)products; ++i)
    cblas_dgemm(order, ta, tb, m, n, k, alpha, a + i * stride_a, lda, b + i * stride_b, ldb, beta, c + i * stride_c,
                ldc);
}

SHOWN dgemm_batch_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const double* alpha,
                   const double** a, const int* lda, const double** b, const int* ldb, const double* beta, double** c,
                   const int* ldc, const int* groups, const int* sizes) {
  for (int g = 0; g < *groups; ++g)
    for (int i = 0; i < sizes[g]; ++i, ++a, ++b, ++c)
      multiply(ta[g] != 'N', tb[g] != 'N', m[g], n[g], k[g], alpha[g], *a, lda[g], *b, ldb[g], beta[g], *c, ldc[g]);
}

SHOWN cblas_dgemm_batch(int order, const int* ta, const int* tb, const int* m, const int* n, const int* k,
                        const double* alpha, const double** a, const int* lda, const double** b, const int* ldb,
                        const double* beta, double** c, const int* ldc, int groups, const int* sizes) {
  for (int g = 0; g < groups; ++g)
    for (int i = 0; i < sizes[g]; ++i, ++a, ++b, ++c)
      cblas_dgemm(order, ta[g], tb[g], m[g], n[g], k[g], alpha[g], *a, lda[g], *b, ldb[g], beta[g], *c, ldc[g]);
}

// Solves op(A) X = alpha B, or X op(A) = alpha B.
static inline __attribute__((always_inline)) void solve(int right, int lower, int transposed, int unit_diagonal, int m,
                                                        int n, double alpha, const double* a, int lda, double* b,
                                                        int ldb) {
  if (m < 0 || n < 0) abort();
  const int order = right ? n : m, systems = right ? m : n;
  const size_t next = right ? (size_t)ldb : 1, other = right ? 1 : (size_t)ldb;
  // X op(A) = B is op(A)^T X^T = B^T.
  const int across = transposed != right, forwards = lower != across;
  for (int j = 0; j < systems; ++j) {
    double* const x = &b[j * other];
    for (int step = 0; step < order; ++step) {
      const int i = forwards ? step : order - 1 - step;
      double sum = alpha * x[i * next];
      for (int l = forwards ? 0 : i + 1; l < (forwards ? i : order); ++l) sum -= at(a, across, lda, i, l) * x[l * next];
      x[i * next] = unit_diagonal ? sum : sum / at(a, 0, lda, i, i);
    }
  }
}

SHOWN dtrsm_(const char* side, const char* uplo, const char* ta, const char* diag, const int* m, const int* n,
             const double* alpha, const double* a, const int* lda, double* b, const int* ldb) {
  solve(*side != 'L', *uplo != 'U', *ta != 'N', *diag != 'N', *m, *n, *alpha, a, *lda, b, *ldb);
}

SHOWN cblas_dtrsm(int order, int side, int uplo, int ta, int diag, int m, int n, double alpha, const double* a, int lda,
                  double* b, int ldb) {
  if (order == row_major)
    solve(side == left, uplo == upper, ta != no_transpose, diag == unit, n, m, alpha, a, lda, b, ldb);
  else
    solve(side != left, uplo != upper, ta != no_transpose, diag == unit, m, n, alpha, a, lda, b, ldb);
}

SHOWN dtrsm_batch_strided_(const char* side, const char* uplo, const char* ta, const char* diag, const int* m,
                           const int* n, const double* alpha, const double* a, const int* lda, const int* stride_a,
                           double* b, const int* ldb, const int* stride_b, const int* solves) {
  for (size_t i = 0; i < (size_t)*solves; ++i)
    solve(*side != 'L', *uplo != 'U', *ta != 'N', *diag != 'N', *m, *n, *alpha, a + i * *stride_a, *lda,
          b + i * *stride_b, *ldb);
}

SHOWN cblas_dtrsm_batch_strided(int order, int side, int uplo, int ta, int diag, int m, int n, double alpha,
                                const double* a, int lda, int stride_a, double* b, int ldb, int stride_b, int solves) {
  for (size_t i = 0; i < (size_t)solves; ++i)
    cblas_dtrsm(order, side, uplo, ta, diag, m, n, alpha, a + i * stride_a, lda, b + i * stride_b, ldb);
}

SHOWN dtrsm_batch_(const char* side, const char* uplo, const char* ta, const char* diag, const int* m, const int* n,
                   const double* alpha, const double** a, const int* lda, double** b, const int* ldb, const int* groups,
                   const int* sizes) {
  for (int g = 0; g < *groups; ++g)
    for (int i = 0; i < sizes[g]; ++i, ++a, ++b)
      solve(side[g] != 'L', uplo[g] != 'U', ta[g] != 'N', diag[g] != 'N', m[g], n[g], alpha[g], *a, lda[g], *b, ldb[g]);
}

SHOWN cblas_dtrsm_batch(int order, const int* side, const int* uplo, const int* ta, const int* diag, const int* m,
                        const int* n, const double* alpha, const double** a, const int* lda, double** b, const int* ldb,
                        int groups, const int* sizes) {
  for (int g = 0; g < groups; ++g)
    for (int i = 0; i < sizes[g]; ++i, ++a, ++b)
      cblas_dtrsm(order, side[g], uplo[g], ta[g], diag[g], m[g], n[g], alpha[g], *a, lda[g], *b, ldb[g]);
}
