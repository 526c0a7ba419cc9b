// cblas_dgemm, cblas_dgemm64_, scipy_cblas_dgemm, ... of all exported routines.
#include "intercept/blas/define_name.h"

#define BLASTOFF_DEFINE_NAMES(name, kind, scalar) BLASTOFF_CBLAS_SPELLINGS(BLASTOFF_DEFINE_NAME, name, kind, scalar)

BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_DEFINE_NAMES)
