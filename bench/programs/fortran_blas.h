/* Fortran BLAS as gfortran calls it: every argument by address, the lengths of the option letters last. */
#ifndef BLASTOFF_BENCH_FORTRAN_BLAS_H
#define BLASTOFF_BENCH_FORTRAN_BLAS_H

#include <stddef.h>

typedef void Gemm(const char* transa, const char* transb, const int* m, const int* n, const int* k, const void* alpha,
                  const void* a, const int* lda, const void* b, const int* ldb, const void* beta, void* c,
                  const int* ldc, size_t, size_t);
typedef void Syrk(const char* uplo, const char* trans, const int* n, const int* k, const void* alpha, const void* a,
                  const int* lda, const void* beta, void* c, const int* ldc, size_t, size_t);
typedef void Trsm(const char* side, const char* uplo, const char* transa, const char* diag, const int* m, const int* n,
                  const void* alpha, const void* a, const int* lda, void* b, const int* ldb, size_t, size_t, size_t,
                  size_t);

extern Gemm sgemm_, dgemm_, cgemm_, zgemm_;
extern Syrk ssyrk_, dsyrk_, csyrk_, zsyrk_;
extern Trsm strsm_, dtrsm_, ctrsm_, ztrsm_;

#endif
