// The LAPACK routines: one enumerator for each row of the routine table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "blas/types.h"
#include "lapack/routines.def"

namespace blastoff::lapack {

/// An operation of LAPACK, for any element type. The order means nothing; rows/ has a row for each.
enum class Kind : std::uint8_t {
#define BLASTOFF_ENUMERATOR(kind) kind,
  BLASTOFF_LAPACK_KINDS(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, kind, scalar) name,
  BLASTOFF_LAPACK_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// One row of the table.
struct RoutineRow {
  const char* name;  ///< without decoration: "zheevd"
  Kind kind;
  blas::Scalar scalar;
};

inline constexpr RoutineRow routine_table[] = {
#define BLASTOFF_ROW(name, kind, scalar) {#name, Kind::kind, blas::Scalar::scalar},
    BLASTOFF_LAPACK_ROUTINES(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};
inline constexpr std::size_t routine_count = std::size(routine_table);

constexpr const RoutineRow& row(Routine routine) {
  return routine_table[static_cast<std::size_t>(routine)];
}

}  // namespace blastoff::lapack
