// All gates and slots. The lists are made for each build (cmake/entrance_lists.cmake).
#define BLASTOFF_GATE_BITS 5

#if defined(__x86_64__)
#include "entrance/gates_x86_64.inc"
#elif defined(__aarch64__)
#include "entrance/gates_aarch64.inc"
#else
#error "unknown architecture: how does a gate look?"
#endif

.macro beginning label
  .globl \label
  .hidden \label
\label:
.endm

  .hidden blastoff_state
  .hidden blastoff_function_behind
  .section .rodata.blastoff_gates, "a", %progbits
  beginning blastoff_gate_names
  .section .rodata.blastoff_gate_offsets, "a", %progbits
  .balign 8
  beginning blastoff_gate_offsets
  .text
  .p2align BLASTOFF_GATE_BITS
  beginning blastoff_gates
#include "gates.list"
blastoff_gates_end:

  .section .rodata.blastoff_gate_bytes, "a", %progbits
  .balign 8
  beginning blastoff_gate_bytes
  .quad 1 << BLASTOFF_GATE_BITS
  .bss
  .balign 8
  beginning blastoff_next_functions
  .skip 8 * ((blastoff_gates_end - blastoff_gates) >> BLASTOFF_GATE_BITS)

// The slots fill pages of their own, which become read-only.
  .section .data.blastoff_slots, "aw", %progbits
  .balign 4096
  beginning blastoff_slots
  .section .rodata.blastoff_imports, "a", %progbits
  beginning blastoff_imports
  .text
#include "imports.list"
  .section .rodata.blastoff_imports, "a", %progbits
  beginning blastoff_imports_end
  .section .data.blastoff_slots, "aw", %progbits
  .balign 4096
  beginning blastoff_slots_end

  .section .note.GNU-stack, "", %progbits
