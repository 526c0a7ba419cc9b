#include "intercept/patch/hooks.h"

#include <cstddef>

#include "intercept/define_hook.h"
#include "intercept/patch/patched_function.h"

// A hook has the parameters of the function that it stands for, and no other: which function was called comes beside
// them, in a register of the entry stub's, and waits here until the hook has begun. (Nothing else runs in between on
// this thread.)
extern "C" {
[[gnu::visibility("hidden"), gnu::used,
  gnu::tls_model("initial-exec")]] constinit thread_local const blastoff::intercept::PatchedFunction* blastoff_called =
    nullptr;
[[gnu::visibility("hidden")]] void blastoff_hooks_entrance();
}

static_assert(offsetof(blastoff::intercept::PatchedFunction, hook) == 0);

#if defined(__x86_64__)
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_hooks_entrance
    .globl blastoff_hooks_entrance
    .type blastoff_hooks_entrance, @function
blastoff_hooks_entrance:
    .cfi_startproc
    endbr64
    movq blastoff_called@gottpoff(%rip), %r10
    movq %r11, %fs:(%r10)
    jmp *(%r11)
    .cfi_endproc
    .size blastoff_hooks_entrance, . - blastoff_hooks_entrance
    .popsection
)");
#elif defined(__aarch64__)
// Of the registers that a function may clobber a linker's veneer uses x16 and x17 alone, and so do we.
asm(R"(
    .pushsection .text
    .balign 16
    .hidden blastoff_hooks_entrance
    .globl blastoff_hooks_entrance
    .type blastoff_hooks_entrance, @function
blastoff_hooks_entrance:
    .cfi_startproc
    hint #34
    adrp x16, :gottprel:blastoff_called
    ldr x16, [x16, :gottprel_lo12:blastoff_called]
    str x9, [sp, #-16]!
    .cfi_adjust_cfa_offset 16
    mrs x9, tpidr_el0
    str x17, [x9, x16]
    ldr x9, [sp], #16
    .cfi_adjust_cfa_offset -16
    ldr x16, [x17]
    br x16
    .cfi_endproc
    .size blastoff_hooks_entrance, . - blastoff_hooks_entrance
    .popsection
)");
#else
#error "unknown architecture: how does a hook learn which function was called?"
#endif

namespace blastoff::intercept::patch {
namespace {

template <abi::Style style, blas::Routine routine>
struct FunctionCalled {
  template <class... Values>
  [[gnu::always_inline]] void operator()(Values... values) const {
    const PatchedFunction& function = *blastoff_called;
    enter_routine<style, routine>(function.entry, function.original, values...);
  }
};

#define BLASTOFF_FUNCTION_CALLED(name, style) (FunctionCalled<abi::Style::style, blas::Routine::name>{})
#define BLASTOFF_DEFINE_HOOKS(name, kind, scalar)                                                      \
  BLASTOFF_DEFINE_HOOK(, fortran_##name, name, fortran, kind, BLASTOFF_FUNCTION_CALLED(name, fortran)) \
  BLASTOFF_DEFINE_HOOK(, cblas_##name, name, cblas, kind, BLASTOFF_FUNCTION_CALLED(name, cblas))
BLASTOFF_ROUTINES(BLASTOFF_DEFINE_HOOKS)

using Hook = void (*)();
#define BLASTOFF_FORTRAN_HOOK(name, kind, scalar) reinterpret_cast<Hook>(&fortran_##name),
#define BLASTOFF_CBLAS_HOOK(name, kind, scalar) reinterpret_cast<Hook>(&cblas_##name),
const Hook fortran_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_FORTRAN_HOOK)};
const Hook cblas_hooks[] = {BLASTOFF_ROUTINES(BLASTOFF_CBLAS_HOOK)};

}  // namespace

const void* hooks_entrance() {
  return reinterpret_cast<const void*>(&blastoff_hooks_entrance);
}

void (*find_hook(abi::Style style, blas::Routine routine))() {
  return (style == abi::Style::fortran ? fortran_hooks : cblas_hooks)[static_cast<std::size_t>(routine)];
}

}  // namespace blastoff::intercept::patch
