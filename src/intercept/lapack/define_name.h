// BLASTOFF_DEFINE_LAPACK_NAME defines one exported name. See blas/define_name.h.
#pragma once

#include "intercept/lapack/enter.h"
#include "intercept/lapack/words.h"
#include "intercept/patch/forwarding_thunk.h"

namespace blastoff::intercept {

/// A call of an exported name by `caller`, a return address.
template <LapackEntryIndex index, lapack::Routine routine>
struct LapackNameCalled {
  const void* caller;

  template <class... Words>
  [[gnu::always_inline]] long operator()(Words... words) const {
    const EntryPoint& entry = lapack_entry_points[static_cast<std::size_t>(index)];
    return enter_lapack_routine<routine>(entry, original_for(entry, caller), words...);
  }
};

/// Returns where a call of an exported name goes: to Blastoff's routine, or to somebody's own function.
template <class Function>
const void* meaning_of(LapackEntryIndex index, const void* caller, Function* routine) {
  const Original original = original_for(lapack_entry_points[static_cast<std::size_t>(index)], caller);
  return original.intercepted ? reinterpret_cast<const void*>(routine) : original.function;
}

}  // namespace blastoff::intercept

#define BLASTOFF_LAPACK_NAME_CALLED(name, index)                                      \
  blastoff::intercept::LapackNameCalled<blastoff::intercept::LapackEntryIndex::index, \
                                        blastoff::lapack::Routine::name> {            \
    __builtin_return_address(0)                                                       \
  }

#define BLASTOFF_DEFINE_LAPACK_NAME_suffixed(symbol, name, kind, scalar)                                               \
  extern "C" BLASTOFF_DEFINE_WORDS_FUNCTION([[gnu::visibility("default")]], symbol, BLASTOFF_WORD_COUNT(kind, scalar), \
                                            (BLASTOFF_LAPACK_NAME_CALLED(name, symbol)))
#define BLASTOFF_DEFINE_LAPACK_NAME_ambiguous(symbol, name, kind, scalar)                                            \
  BLASTOFF_DEFINE_WORDS_FUNCTION(static, lapack_##symbol, BLASTOFF_WORD_COUNT(kind, scalar),                         \
                                 (BLASTOFF_LAPACK_NAME_CALLED(name, symbol)))                                        \
  extern "C" [[gnu::visibility("hidden"), gnu::used]] const void* blastoff_meaning_of_##symbol(const void* caller) { \
    return blastoff::intercept::meaning_of(blastoff::intercept::LapackEntryIndex::symbol, caller, &lapack_##symbol); \
  }                                                                                                                  \
  BLASTOFF_FORWARDING_THUNK(symbol, blastoff_meaning_of_##symbol);
#define BLASTOFF_DEFINE_LAPACK_NAME_undecorated BLASTOFF_DEFINE_LAPACK_NAME_ambiguous

#define BLASTOFF_DEFINE_LAPACK_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_LAPACK_NAME_##decoration(prefix##name##suffix, name, kind, scalar)
