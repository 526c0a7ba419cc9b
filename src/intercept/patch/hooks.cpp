#include "intercept/patch/hooks.h"

#include <cstddef>

#include "intercept/patch/assembly.h"
#include "intercept/patch/patched_function.h"

extern "C" {
[[gnu::used]] constinit thread_local const blastoff::intercept::PatchedFunction* blastoff_called = nullptr;
[[gnu::visibility("hidden")]] void blastoff_hooks_entrance();
}

static_assert(offsetof(blastoff::intercept::PatchedFunction, hook) == 0);

#if defined(__x86_64__)
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_hooks_entrance, BLASTOFF_LANDING_PAD R"(
    movq blastoff_called@gottpoff(%rip), %r10
    movq %r11, %fs:(%r10)
    jmp *(%r11))");
#elif defined(__aarch64__)
// A linker's veneer uses only x16 and x17 of the registers that a function may clobber. This code uses no others.
BLASTOFF_HIDDEN_ASSEMBLY(blastoff_hooks_entrance, BLASTOFF_LANDING_PAD R"(
    adrp x16, :gottprel:blastoff_called
    ldr x16, [x16, :gottprel_lo12:blastoff_called]
    str x9, [sp, #-16]!
    .cfi_adjust_cfa_offset 16
    mrs x9, tpidr_el0
    str x17, [x9, x16]
    ldr x9, [sp], #16
    .cfi_adjust_cfa_offset -16
    ldr x16, [x17]
    br x16)");
#endif

namespace blastoff::intercept::patch {
const void* hooks_entrance() {
  return reinterpret_cast<const void*>(&blastoff_hooks_entrance);
}

}  // namespace blastoff::intercept::patch
