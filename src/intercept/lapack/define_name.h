// BLASTOFF_DEFINE_LAPACK_NAME defines one exported name. See blas/define_name.h.
#pragma once

#include "intercept/bound_name.h"
#include "intercept/lapack/enter.h"
#include "intercept/lapack/words.h"

namespace blastoff::intercept {

/// A call of an exported name by `caller`, a return address.
template <LapackEntryIndex index, lapack::Routine routine>
struct LapackNameCalled {
  const void* caller;
  const NameBindings& bindings;

  template <class... Words>
  [[gnu::always_inline]] LapackReturned<routine> operator()(Words... words) const {
    const EntryPoint& entry = lapack_entry_points[static_cast<std::size_t>(index)];
    const Binding* const bound = bindings.find(caller);
    if (bound != nullptr) [[likely]]
      return enter_lapack_routine<routine>(entry, bound->original, words...);
    return enter_lapack_routine<routine>(entry, original_of_call(entry, caller), words...);
  }
};

}  // namespace blastoff::intercept

#define BLASTOFF_LAPACK_NAME_CALLED(name, symbol)                                                      \
  (blastoff::intercept::LapackNameCalled<blastoff::intercept::LapackEntryIndex::symbol,                \
                                         blastoff::lapack::Routine::name>{__builtin_return_address(0), \
                                                                          blastoff_bindings_##symbol})

#define BLASTOFF_LAPACK_RETURNED(name) blastoff::intercept::LapackReturned<blastoff::lapack::Routine::name>

#define BLASTOFF_DEFINE_LAPACK_SYMBOL(symbol, name, kind, scalar)                                                 \
  BLASTOFF_DEFINE_BINDINGS(symbol)                                                                                \
  BLASTOFF_DEFINE_WORDS_FUNCTION_OF(BLASTOFF_LAPACK_RETURNED(name), static, lapack_##symbol,                      \
                                    BLASTOFF_WORD_COUNT(kind, scalar), BLASTOFF_LAPACK_NAME_CALLED(name, symbol)) \
  BLASTOFF_BIND_NAME(symbol,                                                                                      \
                     blastoff::intercept::lapack_entry_points[static_cast<std::size_t>(                           \
                         blastoff::intercept::LapackEntryIndex::symbol)],                                         \
                     &lapack_##symbol)

#define BLASTOFF_DEFINE_LAPACK_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_LAPACK_SYMBOL(prefix##name##suffix, name, kind, scalar)
