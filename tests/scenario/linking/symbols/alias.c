// A second name for the BLAS's function.
#include "../common/blas.c"

__typeof__(dgemm_) dgemm __attribute__((alias("dgemm_")));
