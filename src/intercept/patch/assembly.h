// Functions in assembly, and the registers in which a caller passes arguments.
#pragma once

/// Defines the function `name` of C linkage by its instructions.
#define BLASTOFF_ASSEMBLY(name, instructions) \
  asm(".pushsection .text\n"                  \
      ".balign 16\n"                          \
      ".globl " #name                         \
      "\n"                                    \
      ".type " #name ", @function\n" #name    \
      ":\n"                                   \
      ".cfi_startproc\n" instructions         \
      "\n.cfi_endproc\n"                      \
      ".size " #name ", . - " #name           \
      "\n"                                    \
      ".popsection\n")

/// The same for a function that only the library itself calls.
#define BLASTOFF_HIDDEN_ASSEMBLY(name, instructions) BLASTOFF_ASSEMBLY(name, ".hidden " #name "\n" instructions)

// Saves and restores the registers of arguments in a frame, from the offset `at` from the stack pointer. Besides the
// arguments: the number of vector registers in use (rax), which a function with variable arguments reads; a nested
// function's frame (r10); and the place of a returned structure (x8).
#if defined(__x86_64__)
#define BLASTOFF_ARGUMENT_REGISTERS(vector, word, at)                                                      \
  vector("xmm0", at "+0") vector("xmm1", at "+16") vector("xmm2", at "+32") vector("xmm3", at "+48")       \
      vector("xmm4", at "+64") vector("xmm5", at "+80") vector("xmm6", at "+96") vector("xmm7", at "+112") \
          word("rdi", at "+128") word("rsi", at "+136") word("rdx", at "+144") word("rcx", at "+152")      \
              word("r8", at "+160") word("r9", at "+168") word("rax", at "+176") word("r10", at "+184")
#define BLASTOFF_SAVE_VECTOR(name, at) "movups %" name ", " at "(%rsp)\n"
#define BLASTOFF_SAVE_WORD(name, at) "movq %" name ", " at "(%rsp)\n"
#define BLASTOFF_RESTORE_VECTOR(name, at) "movups " at "(%rsp), %" name "\n"
#define BLASTOFF_RESTORE_WORD(name, at) "movq " at "(%rsp), %" name "\n"
#define BLASTOFF_SAVE_ARGUMENTS(at) BLASTOFF_ARGUMENT_REGISTERS(BLASTOFF_SAVE_VECTOR, BLASTOFF_SAVE_WORD, at)
#define BLASTOFF_RESTORE_ARGUMENTS(at) BLASTOFF_ARGUMENT_REGISTERS(BLASTOFF_RESTORE_VECTOR, BLASTOFF_RESTORE_WORD, at)
#define BLASTOFF_LANDING_PAD "endbr64\n"
#elif defined(__aarch64__)
#define BLASTOFF_ARGUMENT_REGISTERS(st, at)                                                                  \
  st "p q0, q1, [sp, #" at "+0]\n" st "p q2, q3, [sp, #" at "+32]\n" st "p q4, q5, [sp, #" at "+64]\n" st    \
     "p q6, q7, [sp, #" at "+96]\n" st "p x0, x1, [sp, #" at "+128]\n" st "p x2, x3, [sp, #" at "+144]\n" st \
     "p x4, x5, [sp, #" at "+160]\n" st "p x6, x7, [sp, #" at "+176]\n" st "r x8, [sp, #" at "+192]\n"
#define BLASTOFF_SAVE_ARGUMENTS(at) BLASTOFF_ARGUMENT_REGISTERS("st", at)
#define BLASTOFF_RESTORE_ARGUMENTS(at) BLASTOFF_ARGUMENT_REGISTERS("ld", at)
#define BLASTOFF_LANDING_PAD "hint #34\n"
#else
#error "unknown architecture: in which registers are arguments passed?"
#endif
