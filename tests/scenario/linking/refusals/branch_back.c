// A dgemm_ that begins with a loop.
#define GEMM portable_product
#include "../common/blas.c"
#include "library.h"

__asm__(R"(
    .text
    .globl dgemm_
    .type dgemm_, @function
dgemm_:
    xorl %eax, %eax
.Lagain:
    incl %eax
    cmpl $2, %eax
    jl .Lagain
    jmp portable_product@PLT
    .size dgemm_, . - dgemm_
)");
