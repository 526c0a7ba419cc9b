// pdsyevd_, pzheevd_, ... of all routines.
#include "intercept/bound_name.h"
#include "intercept/scalapack/enter.h"
#include "intercept/words.h"

#define BLASTOFF_SCALAPACK_ENTRY(name) \
  blastoff::intercept::scalapack_entry_points[static_cast<std::size_t>(blastoff::scalapack::Routine::name)]

#define BLASTOFF_DEFINE_NAME(name, kind, scalar, library, local, words)                              \
  BLASTOFF_DEFINE_BINDINGS(name##_)                                                                  \
  BLASTOFF_DEFINE_WORDS_FUNCTION(                                                                    \
      static, scalapack_##name, words,                                                               \
      BLASTOFF_NAME_CALLED(name##_, BLASTOFF_SCALAPACK_ENTRY(name),                                  \
                           blastoff::intercept::EnterScalapack<blastoff::scalapack::Routine::name>)) \
  BLASTOFF_BIND_NAME(name##_, BLASTOFF_SCALAPACK_ENTRY(name), &scalapack_##name)

BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_DEFINE_NAME)
