// dgemm, zherk, ...: Fortran without the underscore.
#include "intercept/blas/define_name.h"

#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) \
  BLASTOFF_UNDECORATED_SPELLINGS(BLASTOFF_DEFINE_NAME, name, kind, scalar)

BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_DEFINE_NAMES)
