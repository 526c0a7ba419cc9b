// dgemm_, dgemm_64_, scipy_dgemm_, ... of all exported routines.
#include "intercept/blas/define_name.h"

#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) BLASTOFF_FORTRAN_SPELLINGS(BLASTOFF_DEFINE_NAME, name, kind, scalar)

BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_DEFINE_NAMES)
