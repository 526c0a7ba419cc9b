// dgetrf, zheevd, ...: Fortran without the underscore, or a program's own function with the same name. See
// blas/undecorated_names.cpp.
#include "intercept/lapack/define_name.h"
#include "intercept/patch/forwarding_thunk.h"

namespace blastoff::intercept {
namespace {

template <class Function>
const void* choose(LapackEntryIndex index, const void* caller, Function* lapack_routine) {
  const Original original = original_for(lapack_entry_points[static_cast<std::size_t>(index)], caller);
  return original.intercepted ? reinterpret_cast<const void*>(lapack_routine) : original.function;
}

}  // namespace

#define BLASTOFF_DEFINE_UNDECORATED(prefix, name, suffix, style, integers, decoration, kind, scalar)               \
  BLASTOFF_DEFINE_WORDS_FUNCTION(static, lapack_##name, BLASTOFF_WORD_COUNT(kind, scalar),                         \
                                 (BLASTOFF_LAPACK_NAME_CALLED(name, prefix##name##suffix)))                        \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] const void* blastoff_meaning_of_##name(const void* caller) { \
    return choose(LapackEntryIndex::prefix##name##suffix, caller, &lapack_##name);                                 \
  }                                                                                                                \
  BLASTOFF_FORWARDING_THUNK(prefix##name##suffix, blastoff_meaning_of_##name);
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_UNDECORATED_SPELLINGS(BLASTOFF_DEFINE_UNDECORATED, name, kind, scalar)

BLASTOFF_LAPACK_ROUTINES(BLASTOFF_DEFINE_NAMES)

}  // namespace blastoff::intercept
