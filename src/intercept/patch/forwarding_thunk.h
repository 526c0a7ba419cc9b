// A function that forwards every call: to which function, another one says.
#pragma once

/// Defines the exported function `name`. A call of it becomes a call of what `choose(return address)` returns, with all
/// registers and the stack as the caller left them: neither number nor types of the arguments matter, nor what is
/// returned, nor where. `choose` is a function of C linkage in the same file, const void*(const void*).
#if defined(__x86_64__)
#define BLASTOFF_FORWARDING_THUNK(name, choose) \
  asm(".pushsection .text\n"                    \
      ".balign 16\n"                            \
      ".globl " #name                           \
      "\n"                                      \
      ".type " #name ", @function\n" #name      \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "endbr64\n"                               \
      "leaq " #choose                           \
      "(%rip), %r11\n"                          \
      "jmp blastoff_forward\n"                  \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name             \
      "\n"                                      \
      ".popsection\n")
#elif defined(__aarch64__)
#define BLASTOFF_FORWARDING_THUNK(name, choose) \
  asm(".pushsection .text\n"                    \
      ".balign 16\n"                            \
      ".globl " #name                           \
      "\n"                                      \
      ".type " #name ", @function\n" #name      \
      ":\n"                                     \
      ".cfi_startproc\n"                        \
      "hint #34\n"                              \
      "adrp x17, " #choose                      \
      "\n"                                      \
      "add x17, x17, #:lo12:" #choose           \
      "\n"                                      \
      "b blastoff_forward\n"                    \
      ".cfi_endproc\n"                          \
      ".size " #name ", . - " #name             \
      "\n"                                      \
      ".popsection\n")
#else
#error "unknown architecture: which registers belong to a call?"
#endif
