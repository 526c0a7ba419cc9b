// dgemm, zherk, ...: Fortran without the underscore, or a function of somebody's own that happens to be called so.
//
// Nothing may be read through an argument before it is known which. The exported name receives no more than the
// registers that can hold arguments, and jumps, by a tail call, to the BLAS routine of that name here or to the foreign
// function: that one finds its registers and the stack as the caller left them, and returns to the caller whatever it
// returns. Words on the stack are not even copied: they may be the caller's own variables, which other threads are
// writing.
#include <cstdint>

#include "intercept/patch/argument_registers.h"
#include "intercept/preload/define_name.h"
#include "intercept/tail_call.h"

namespace blastoff::intercept {
namespace {

using Vector [[gnu::vector_size(16)]] = double;

#define BLASTOFF_ANY_PARAMETER(number) std::uintptr_t r##number
#define BLASTOFF_ANY_VALUE(number) r##number
#define BLASTOFF_ANY_PARAMETERS                                                           \
  Vector v0, Vector v1, Vector v2, Vector v3, Vector v4, Vector v5, Vector v6, Vector v7, \
      BLASTOFF_ARGUMENT_REGISTERS(BLASTOFF_ANY_PARAMETER)
#define BLASTOFF_ANY_VALUES v0, v1, v2, v3, v4, v5, v6, v7, BLASTOFF_ARGUMENT_REGISTERS(BLASTOFF_ANY_VALUE)

using AnyFunction = void(BLASTOFF_ANY_PARAMETERS);

template <class Function>
AnyFunction* choose(EntryIndex index, const void* caller, Function* blas_routine) {
  const Original original = original_for(entry_point_table[static_cast<std::size_t>(index)], caller);
  return reinterpret_cast<AnyFunction*>(original.intercepted ? reinterpret_cast<void*>(blas_routine)
                                                             : original.function);
}

}  // namespace

#define BLASTOFF_DEFINE_UNDECORATED(prefix, name, suffix, style, integers, decoration, kind, scalar)                   \
  BLASTOFF_DEFINE_HOOK(static, blas_##name, name, style, kind,                                                         \
                       (BLASTOFF_NAME_CALLED(name, EntryIndex::prefix##name##suffix, style)))                          \
  BLASTOFF_TAIL_CALLING void prefix##name##suffix(BLASTOFF_ANY_PARAMETERS) {                                           \
    AnyFunction* const function = choose(EntryIndex::prefix##name##suffix, __builtin_return_address(0), &blas_##name); \
    BLASTOFF_TAIL_CALL function(BLASTOFF_ANY_VALUES);                                                                  \
  }
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_UNDECORATED_SPELLINGS(BLASTOFF_DEFINE_UNDECORATED, name, kind, scalar)

extern "C" {
BLASTOFF_ROUTINES(BLASTOFF_DEFINE_NAMES)
}

}  // namespace blastoff::intercept
