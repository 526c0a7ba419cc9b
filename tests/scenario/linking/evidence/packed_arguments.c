// A program's own product that packs two of its arguments by a vector register, as compilers do for the threads of a
// loop, and keeps a real number on the stack where an argument lay before.
#include "product.h"

Gemm product;

__asm__(
    ".globl dgemm_\n"
    ".type dgemm_, @function\n"
    "dgemm_:\n"
    "  sub $40, %rsp\n"
    "  mov %rdx, (%rsp)\n"
    "  mov %rcx, 8(%rsp)\n"
    "  movq (%rsp), %xmm0\n"
    "  movhps 8(%rsp), %xmm0\n"
    "  movups %xmm0, 16(%rsp)\n"
    "  xorps %xmm0, %xmm0\n"
    "  movups %xmm0, (%rsp)\n"
    "  movsd 8(%rsp), %xmm1\n"
    "  mov 16(%rsp), %rdx\n"
    "  mov 24(%rsp), %rcx\n"
    "  add $40, %rsp\n"
    "  jmp product\n"
    ".size dgemm_, . - dgemm_\n");

int main(void) {
  verdict_of("products", right_products(dgemm_));
  return scenario_status();
}
