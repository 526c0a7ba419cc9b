// dgetrf_, dgetrf_64_, scipy_dgetrf_, dgetrf, ... of all routines. See intercept/blas/define_name.h.
#include "intercept/bound_name.h"
#include "intercept/lapack/enter.h"

#define BLASTOFF_DEFINE_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_NAME_OF(prefix##name##suffix, blastoff::intercept::lapack_entry_points,     \
                          blastoff::intercept::LapackEntryIndex::prefix##name##suffix,        \
                          blastoff::intercept::EnterLapack<blastoff::lapack::Routine::name>)
#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) BLASTOFF_LAPACK_SPELLINGS(BLASTOFF_DEFINE_NAME, name, kind, scalar)

BLASTOFF_LAPACK_ROUTINES(BLASTOFF_DEFINE_NAMES)
