#include "intercept/patch/counted_hook.h"

#include "intercept/patch/hooks.h"

// No counted function has more than 32 arguments on the stack. What lies beyond its arguments there is copied, too,
// and does no harm: it belongs to the caller, or to what has started the thread.
#if defined(__x86_64__)
// The frame has the copied arguments (256 bytes), then rdi, rsi, rdx, rcx, r8, r9, rax and xmm0 to xmm7. On the way
// back, the results rax, rdx, xmm0 and xmm1 lie there.
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_counted_hook
    .globl blastoff_counted_hook
    .type blastoff_counted_hook, @function
blastoff_counted_hook:
    .cfi_startproc
    endbr64
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $448, %rsp
    movq %rdi, 256(%rsp)
    movq %rsi, 264(%rsp)
    movq %rdx, 272(%rsp)
    movq %rcx, 280(%rsp)
    movq %r8, 288(%rsp)
    movq %r9, 296(%rsp)
    movq %rax, 304(%rsp)
    movaps %xmm0, 320(%rsp)
    movaps %xmm1, 336(%rsp)
    movaps %xmm2, 352(%rsp)
    movaps %xmm3, 368(%rsp)
    movaps %xmm4, 384(%rsp)
    movaps %xmm5, 400(%rsp)
    movaps %xmm6, 416(%rsp)
    movaps %xmm7, 432(%rsp)
    movq blastoff_called@gottpoff(%rip), %r10
    movq %fs:(%r10), %rdi
    movq %rbp, %rsi
    call blastoff_counted_begin
    movq %rax, %r11
    leaq 16(%rbp), %rsi
    movq %rsp, %rdi
    movl $32, %ecx
    rep movsq
    movq 256(%rsp), %rdi
    movq 264(%rsp), %rsi
    movq 272(%rsp), %rdx
    movq 280(%rsp), %rcx
    movq 288(%rsp), %r8
    movq 296(%rsp), %r9
    movq 304(%rsp), %rax
    movaps 320(%rsp), %xmm0
    movaps 336(%rsp), %xmm1
    movaps 352(%rsp), %xmm2
    movaps 368(%rsp), %xmm3
    movaps 384(%rsp), %xmm4
    movaps 400(%rsp), %xmm5
    movaps 416(%rsp), %xmm6
    movaps 432(%rsp), %xmm7
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
    ret
    .cfi_endproc
    .size blastoff_counted_hook, . - blastoff_counted_hook
    .popsection
)");
#elif defined(__aarch64__)
// The frame has the copied arguments (256 bytes), then x0 to x8 and q0 to q7. On the way back, the results x0, x1 and
// q0 to q3 lie there.
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_counted_hook
    .globl blastoff_counted_hook
    .type blastoff_counted_hook, @function
blastoff_counted_hook:
    .cfi_startproc
    hint #34
    stp x29, x30, [sp, #-16]!
    .cfi_def_cfa_offset 16
    .cfi_offset x29, -16
    .cfi_offset x30, -8
    mov x29, sp
    .cfi_def_cfa_register x29
    sub sp, sp, #464
    stp x0, x1, [sp, #256]
    stp x2, x3, [sp, #272]
    stp x4, x5, [sp, #288]
    stp x6, x7, [sp, #304]
    str x8, [sp, #320]
    stp q0, q1, [sp, #336]
    stp q2, q3, [sp, #368]
    stp q4, q5, [sp, #400]
    stp q6, q7, [sp, #432]
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
    ldp x0, x1, [sp, #256]
    ldp x2, x3, [sp, #272]
    ldp x4, x5, [sp, #288]
    ldp x6, x7, [sp, #304]
    ldr x8, [sp, #320]
    ldp q0, q1, [sp, #336]
    ldp q2, q3, [sp, #368]
    ldp q4, q5, [sp, #400]
    ldp q6, q7, [sp, #432]
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
    ret
    .cfi_endproc
    .size blastoff_counted_hook, . - blastoff_counted_hook
    .popsection
)");
#else
#error "unknown architecture: how are the arguments of a function passed on?"
#endif
