// dgetrf_, dgetrf_64_, scipy_dgetrf_, ... of all routines.
#include "intercept/lapack/define_name.h"

#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_FORTRAN_SPELLINGS(BLASTOFF_DEFINE_LAPACK_NAME, name, kind, scalar)

BLASTOFF_LAPACK_ROUTINES(BLASTOFF_DEFINE_NAMES)
