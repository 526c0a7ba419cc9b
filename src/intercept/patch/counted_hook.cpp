#include "intercept/patch/counted_hook.h"

#include "intercept/patch/assembly.h"
#include "intercept/patch/hooks.h"

// No counted function has more than 32 arguments on the stack. What lies beyond its arguments there is copied, too,
// and does no harm: it belongs to the caller, or to what has started the thread. The frame has the copied arguments
// (256 bytes), then the registers of arguments. On the way back, the registers of results lie there.
#if defined(__x86_64__)
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_counted_hook, BLASTOFF_LANDING_PAD R"(
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $448, %rsp
)" BLASTOFF_SAVE_ARGUMENTS("256") R"(
    movq blastoff_called@gottpoff(%rip), %r10
    movq %fs:(%r10), %rdi
    movq %rbp, %rsi
    call blastoff_counted_begin
    movq %rax, %r11
    leaq 16(%rbp), %rsi
    movq %rsp, %rdi
    movl $32, %ecx
    rep movsq
)" BLASTOFF_RESTORE_ARGUMENTS("256") R"(
    call *%r11
    movq %rax, 256(%rsp)
    movq %rdx, 264(%rsp)
    movaps %xmm0, 320(%rsp)
    movaps %xmm1, 336(%rsp)
    call blastoff_counted_end
    movq 256(%rsp), %rax
    movq 264(%rsp), %rdx
    movaps 320(%rsp), %xmm0
    movaps 336(%rsp), %xmm1
    leave
    .cfi_def_cfa %rsp, 8
    ret)");
#elif defined(__aarch64__)
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_counted_hook, BLASTOFF_LANDING_PAD R"(
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #464
)" BLASTOFF_SAVE_ARGUMENTS("256") R"(
    mrs x9, tpidr_el0
    adrp x10, :gottprel:blastoff_called
    ldr x10, [x10, :gottprel_lo12:blastoff_called]
    ldr x0, [x9, x10]
    mov x1, x29
    bl blastoff_counted_begin
    mov x17, x0
    add x9, x29, #16
    mov x10, sp
    mov w11, #16
1:
    ldp x12, x13, [x9], #16
    stp x12, x13, [x10], #16
    subs w11, w11, #1
    b.ne 1b
)" BLASTOFF_RESTORE_ARGUMENTS("256") R"(
    blr x17
    stp x0, x1, [sp, #256]
    stp q0, q1, [sp, #336]
    stp q2, q3, [sp, #368]
    bl blastoff_counted_end
    ldp x0, x1, [sp, #256]
    ldp q0, q1, [sp, #336]
    ldp q2, q3, [sp, #368]
    mov sp, x29
    .cfi_def_cfa_register sp
    ldp x29, x30, [sp], #16
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret)");
#endif
