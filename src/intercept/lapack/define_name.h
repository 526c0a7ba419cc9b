// BLASTOFF_DEFINE_LAPACK_NAME defines one exported name. See blas/define_name.h.
#pragma once

#include "intercept/bound_name.h"
#include "intercept/lapack/enter.h"
#include "intercept/lapack/words.h"

#define BLASTOFF_LAPACK_ENTRY(symbol) \
  blastoff::intercept::lapack_entry_points[static_cast<std::size_t>(blastoff::intercept::LapackEntryIndex::symbol)]

#define BLASTOFF_DEFINE_LAPACK_SYMBOL(symbol, name, kind, scalar)                                    \
  BLASTOFF_DEFINE_BINDINGS(symbol)                                                                   \
  BLASTOFF_DEFINE_WORDS_FUNCTION_OF(                                                                 \
      blastoff::intercept::LapackReturned<blastoff::lapack::Routine::name>, static, lapack_##symbol, \
      BLASTOFF_WORD_COUNT(kind, scalar),                                                             \
      BLASTOFF_NAME_CALLED(symbol, BLASTOFF_LAPACK_ENTRY(symbol),                                    \
                           blastoff::intercept::EnterLapack<blastoff::lapack::Routine::name>))       \
  BLASTOFF_BIND_NAME(symbol, BLASTOFF_LAPACK_ENTRY(symbol), &lapack_##symbol)

#define BLASTOFF_DEFINE_LAPACK_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_LAPACK_SYMBOL(prefix##name##suffix, name, kind, scalar)
