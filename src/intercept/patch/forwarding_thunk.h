// Defines a function that forwards every call to a function that is chosen at the call.
#pragma once

#include "intercept/patch/assembly.h"

/// Defines the exported function `name`. A call of `name` becomes a call of the function that `choose(return address)`
/// returns, with all registers and the stack as the caller left them. So the arguments may have any number and types,
/// and so may the result. `choose` is a function of C linkage in the same file, const void*(const void*).
#define BLASTOFF_FORWARDING_THUNK(name, choose) BLASTOFF_ASSEMBLY(name, BLASTOFF_LANDING_PAD BLASTOFF_CHOOSE(choose))
#if defined(__x86_64__)
#define BLASTOFF_CHOOSE(choose) \
  "leaq " #choose               \
  "(%rip), %r11\n"              \
  "jmp blastoff_forward\n"
/// The same for a name with `bindings` (NameBindings of C linkage, in the same file). If the current binding holds for
/// the call, `choose` is not called.
#define BLASTOFF_BOUND_THUNK(name, choose, bindings)                                        \
  BLASTOFF_ASSEMBLY(name, BLASTOFF_LANDING_PAD "movq " #bindings                            \
                                               "(%rip), %r11\n"                             \
                                               "testq %r11, %r11\n"                         \
                                               "jz 1f\n"                                    \
                                               "pushq %rax\n"                               \
                                               ".cfi_adjust_cfa_offset 8\n"                 \
                                               "movq 8(%rsp), %rax\n"                       \
                                               "subq (%r11), %rax\n"                        \
                                               "cmpq 8(%r11), %rax\n"                       \
                                               "jae 2f\n"                                   \
                                               "movq blastoff_linker_changes(%rip), %rax\n" \
                                               "cmpq 16(%r11), %rax\n"                      \
                                               "jne 2f\n"                                   \
                                               "popq %rax\n"                                \
                                               ".cfi_adjust_cfa_offset -8\n"                \
                                               "jmp *24(%r11)\n"                            \
                                               "2:\n"                                       \
                                               ".cfi_adjust_cfa_offset 8\n"                 \
                                               "popq %rax\n"                                \
                                               ".cfi_adjust_cfa_offset -8\n"                \
                                               "1:\n" BLASTOFF_CHOOSE(choose))
#elif defined(__aarch64__)
#define BLASTOFF_CHOOSE(choose)   \
  "adrp x17, " #choose            \
  "\n"                            \
  "add x17, x17, #:lo12:" #choose \
  "\n"                            \
  "b blastoff_forward\n"
#define BLASTOFF_BOUND_THUNK(name, choose, bindings) BLASTOFF_FORWARDING_THUNK(name, choose)
#endif
