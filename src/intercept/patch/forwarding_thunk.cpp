// The code that the functions of BLASTOFF_FORWARDING_THUNK share. Besides the arguments it preserves: the number of
// vector registers in use (rax), which a function with variable arguments reads; a nested function's frame (r10); and
// the place of a returned structure (x8).
#if defined(__x86_64__)
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_forward
    .globl blastoff_forward
    .type blastoff_forward, @function
blastoff_forward:
    .cfi_startproc
    pushq %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    movq %rsp, %rbp
    .cfi_def_cfa_register %rbp
    subq $192, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    movups %xmm2, 32(%rsp)
    movups %xmm3, 48(%rsp)
    movups %xmm4, 64(%rsp)
    movups %xmm5, 80(%rsp)
    movups %xmm6, 96(%rsp)
    movups %xmm7, 112(%rsp)
    movq %rdi, 128(%rsp)
    movq %rsi, 136(%rsp)
    movq %rdx, 144(%rsp)
    movq %rcx, 152(%rsp)
    movq %r8, 160(%rsp)
    movq %r9, 168(%rsp)
    movq %rax, 176(%rsp)
    movq %r10, 184(%rsp)
    movq 8(%rbp), %rdi
    call *%r11
    movq %rax, %r11
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    movups 32(%rsp), %xmm2
    movups 48(%rsp), %xmm3
    movups 64(%rsp), %xmm4
    movups 80(%rsp), %xmm5
    movups 96(%rsp), %xmm6
    movups 112(%rsp), %xmm7
    movq 128(%rsp), %rdi
    movq 136(%rsp), %rsi
    movq 144(%rsp), %rdx
    movq 152(%rsp), %rcx
    movq 160(%rsp), %r8
    movq 168(%rsp), %r9
    movq 176(%rsp), %rax
    movq 184(%rsp), %r10
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_endproc
    .size blastoff_forward, . - blastoff_forward
    .popsection
)");
#elif defined(__aarch64__)
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_forward
    .globl blastoff_forward
    .type blastoff_forward, @function
blastoff_forward:
    .cfi_startproc
    stp x29, x30, [sp, #-224]!
    .cfi_def_cfa_offset 224
    .cfi_offset x29, -224
    .cfi_offset x30, -216
    mov x29, sp
    stp q0, q1, [sp, #16]
    stp q2, q3, [sp, #48]
    stp q4, q5, [sp, #80]
    stp q6, q7, [sp, #112]
    stp x0, x1, [sp, #144]
    stp x2, x3, [sp, #160]
    stp x4, x5, [sp, #176]
    stp x6, x7, [sp, #192]
    str x8, [sp, #208]
    mov x0, x30
    blr x17
    mov x17, x0
    ldp q0, q1, [sp, #16]
    ldp q2, q3, [sp, #48]
    ldp q4, q5, [sp, #80]
    ldp q6, q7, [sp, #112]
    ldp x0, x1, [sp, #144]
    ldp x2, x3, [sp, #160]
    ldp x4, x5, [sp, #176]
    ldp x6, x7, [sp, #192]
    ldr x8, [sp, #208]
    ldp x29, x30, [sp], #224
    .cfi_restore x29
    .cfi_restore x30
    .cfi_def_cfa_offset 0
    br x17
    .cfi_endproc
    .size blastoff_forward, . - blastoff_forward
    .popsection
)");
#endif
