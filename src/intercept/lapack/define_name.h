// BLASTOFF_DEFINE_LAPACK_NAME defines one exported name.
#pragma once

#include "intercept/lapack/enter.h"
#include "intercept/lapack/words.h"

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

}  // namespace blastoff::intercept

#define BLASTOFF_LAPACK_NAME_CALLED(name, index)                                      \
  blastoff::intercept::LapackNameCalled<blastoff::intercept::LapackEntryIndex::index, \
                                        blastoff::lapack::Routine::name> {            \
    __builtin_return_address(0)                                                       \
  }

#define BLASTOFF_DEFINE_LAPACK_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_WORDS_FUNCTION([[gnu::visibility("default")]], prefix##name##suffix,               \
                                 BLASTOFF_WORD_COUNT(kind, scalar),                                  \
                                 (BLASTOFF_LAPACK_NAME_CALLED(name, prefix##name##suffix)))
