// The routines of ScaLAPACK that are intercepted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "lapack/routine.h"
#include "operation/front_end.h"
#include "scalapack/routines.def"

namespace blastoff::scalapack {

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, local, words) name,
  BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// One row of the table.
struct RoutineRow {
  const char* name;       ///< without decoration: "pdsyevd"
  lapack::Routine local;  ///< LAPACK's routine for the same problem in one memory
  std::size_t words;      ///< number of words that a call passes
};

inline constexpr RoutineRow routine_table[] = {
#define BLASTOFF_ROW(name, local, words) {#name, lapack::Routine::local, words},
    BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t routine_count = std::size(routine_table);

constexpr const RoutineRow& row(Routine routine) {
  return routine_table[static_cast<std::size_t>(routine)];
}

/// A front end for the names only: distributed calls are not operations.
operation::FrontEnd& scalapack();

}  // namespace blastoff::scalapack
