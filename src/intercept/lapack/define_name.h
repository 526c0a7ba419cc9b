// BLASTOFF_DEFINE_LAPACK_NAME defines one exported name. See blas/define_name.h.
#pragma once

#include "intercept/bound_name.h"
#include "intercept/lapack/enter.h"

#define BLASTOFF_DEFINE_LAPACK_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_NAME_OF(prefix##name##suffix, blastoff::intercept::lapack_entry_points,            \
                          blastoff::intercept::LapackEntryIndex::prefix##name##suffix,               \
                          blastoff::intercept::EnterLapack<blastoff::lapack::Routine::name>)
