// pdsyevd_, pzheevd_, ... of all routines.
#include "intercept/bound_name.h"
#include "intercept/scalapack/enter.h"

#define BLASTOFF_DEFINE_NAME(name, kind, scalar, library, local, words)                                             \
  BLASTOFF_DEFINE_NAME_OF(name##_, blastoff::intercept::scalapack_entry_points, blastoff::scalapack::Routine::name, \
                          blastoff::intercept::EnterScalapack<blastoff::scalapack::Routine::name>)

BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_DEFINE_NAME)
