// dgemm, zherk, ...: Fortran without the underscore, or a program's own function with the same name.
//
// Nothing may be read through an argument before it is known which. So the exported name passes the call on, to the
// BLAS routine of that name here or to the foreign function: that one finds its registers and the stack as the caller
// left them, and returns to the caller whatever it returns. Words on the stack are not even copied: they may be the
// caller's own variables, which other threads are writing.
#include "intercept/blas/define_name.h"
#include "intercept/patch/forwarding_thunk.h"

namespace blastoff::intercept {
namespace {

template <class Function>
const void* choose(EntryIndex index, const void* caller, Function* blas_routine) {
  const Original original = original_for(entry_point_table[static_cast<std::size_t>(index)], caller);
  return original.intercepted ? reinterpret_cast<const void*>(blas_routine) : original.function;
}

}  // namespace

#define BLASTOFF_DEFINE_UNDECORATED(prefix, name, suffix, style, integers, decoration, kind, scalar)               \
  BLASTOFF_DEFINE_HOOK(static, blas_##name, name, style, kind,                                                     \
                       (BLASTOFF_NAME_CALLED(name, EntryIndex::prefix##name##suffix, style)))                      \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] const void* blastoff_meaning_of_##name(const void* caller) { \
    return choose(EntryIndex::prefix##name##suffix, caller, &blas_##name);                                         \
  }                                                                                                                \
  BLASTOFF_FORWARDING_THUNK(prefix##name##suffix, blastoff_meaning_of_##name);
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_UNDECORATED_SPELLINGS(BLASTOFF_DEFINE_UNDECORATED, name, kind, scalar)

BLASTOFF_ROUTINES(BLASTOFF_DEFINE_NAMES)

}  // namespace blastoff::intercept
