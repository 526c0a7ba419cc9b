// A dgemm_ of two bytes, right before another function.
#define GEMM portable_product
#include "../common/blas.c"
#include "library.h"

__asm__(R"(
    .text
    .globl dgemm_
    .type dgemm_, @function
dgemm_:
    jmp .Lfarther
    .size dgemm_, . - dgemm_
    .type neighbour, @function
neighbour:
    movl $1, %eax
    ret
    .size neighbour, . - neighbour
.Lfarther:
    jmp portable_product@PLT
)");
