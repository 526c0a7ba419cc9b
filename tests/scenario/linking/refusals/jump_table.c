// A dgemm_ that jumps to an address that it computes.
#define GEMM portable_product
#include "../common/blas.c"
#include "library.h"

__asm__(R"(
    .text
    .globl dgemm_
    .type dgemm_, @function
dgemm_:
    xorl %eax, %eax
    leaq .Lbase(%rip), %r10
    leaq .Lout - .Lbase(%rax,%r10), %r10
    jmp *%r10
.Lbase:
    ud2
.Lout:
    jmp portable_product@PLT
    .size dgemm_, . - dgemm_
)");
