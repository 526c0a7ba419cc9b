// The code that the functions of BLASTOFF_FORWARDING_THUNK share.
#include "intercept/patch/assembly.h"

#if defined(__x86_64__)
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_forward, R"(
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
)" BLASTOFF_SAVE_ARGUMENTS("0") R"(
    movq 8(%rbp), %rdi
    call *%r11
    movq %rax, %r11
)" BLASTOFF_RESTORE_ARGUMENTS("0") R"(
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11)");
#elif defined(__aarch64__)
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_forward, R"(
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
)" BLASTOFF_SAVE_ARGUMENTS("16") R"(
    mov x0, x30
    blr x17
    mov x17, x0
)" BLASTOFF_RESTORE_ARGUMENTS("16") R"(
    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x17)");
#endif
