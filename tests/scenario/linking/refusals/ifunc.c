// A BLAS that chooses its dgemm_ when it is loaded.
#define GEMM portable_product
#include "../common/blas.c"
#include "library.h"

static __typeof__(portable_product)* choose(void) {
  return portable_product;
}

__typeof__(portable_product) dgemm_ __attribute__((ifunc("choose")));
