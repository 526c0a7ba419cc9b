// The LAPACK routines: one enumerator for each row of the routine table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "blas/types.h"
#include "lapack/routines.def"

namespace blastoff::lapack {

/// An operation of LAPACK, for any element type.
enum class Kind : std::uint8_t {
  potrf,
  potrs,
  posv,
  potri,
  getrf,
  getrs,
  gesv,
  getri,
  laswp,
  trtri,
  trtrs,
  geqrf,
  orgqr,
  ormqr,
  gels,
  syev,
  syevd,
  syevr,
  syevx,
  sygv,
  sygvd,
  sygvx,
  spev,
  spevd,
  spevx,
  spgv,
  spgvd,
  spgvx,
  gesdd,
  gesvd,
  geev,
};

/// Whether the matrices A and B are packed: the columns of a triangle follow each other without gaps, and there is no
/// leading dimension.
constexpr bool is_packed(Kind kind) {
  return kind >= Kind::spev && kind <= Kind::spgvx;
}

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
