/* A libblas.so.3 that stands for the OpenBLAS of SciPy's wheel, whose routines are named scipy_dgemm_ and so on. Loads
 * the library that WHEEL_BLAS names, and passes the calls of the benchmark programs on to it. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "fortran_blas.h"

static void* wheel(const char* symbol) {
  static void* library;
  const char* path = getenv("WHEEL_BLAS");
  if (!library && path) library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  void* address = library ? dlsym(library, symbol) : NULL;
  if (!address) {
    fprintf(stderr, "wheel_blas: no %s in WHEEL_BLAS=%s: %s\n", symbol, path ? path : "", path ? dlerror() : "not set");
    exit(2);
  }
  return address;
}

#define FORWARD(type)                                                                                                  \
  static Gemm* type##gemm_wheel;                                                                                       \
  static Syrk* type##syrk_wheel;                                                                                       \
  static Trsm* type##trsm_wheel;                                                                                       \
  __attribute__((constructor)) static void find_##type(void) {                                                         \
    type##gemm_wheel = wheel("scipy_" #type "gemm_");                                                                  \
    type##syrk_wheel = wheel("scipy_" #type "syrk_");                                                                  \
    type##trsm_wheel = wheel("scipy_" #type "trsm_");                                                                  \
  }                                                                                                                    \
  void type##gemm_(const char* transa, const char* transb, const int* m, const int* n, const int* k,                   \
                   const void* alpha, const void* a, const int* lda, const void* b, const int* ldb, const void* beta,  \
                   void* c, const int* ldc, size_t l1, size_t l2) {                                                    \
    type##gemm_wheel(transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, l1, l2);                            \
  }                                                                                                                    \
  void type##syrk_(const char* uplo, const char* trans, const int* n, const int* k, const void* alpha, const void* a,  \
                   const int* lda, const void* beta, void* c, const int* ldc, size_t l1, size_t l2) {                  \
    type##syrk_wheel(uplo, trans, n, k, alpha, a, lda, beta, c, ldc, l1, l2);                                          \
  }                                                                                                                    \
  void type##trsm_(const char* side, const char* uplo, const char* transa, const char* diag, const int* m,             \
                   const int* n, const void* alpha, const void* a, const int* lda, void* b, const int* ldb, size_t l1, \
                   size_t l2, size_t l3, size_t l4) {                                                                  \
    type##trsm_wheel(side, uplo, transa, diag, m, n, alpha, a, lda, b, ldb, l1, l2, l3, l4);                           \
  }

FORWARD(s)
FORWARD(d)
FORWARD(c)
FORWARD(z)
