// Which routine a call is for: one enumerator per row of the routine table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blas/routines.def"
#include "blas/types.h"

namespace blastoff::blas {

/// The operation, whatever its element type. gemmt updates one triangle of C with a general product.
enum class Kind : std::uint8_t { gemm, gemmt, symm, hemm, syrk, herk, syr2k, her2k, trmm, trsm };

enum class Routine : std::uint8_t {
#define BLASTOFF_ENUMERATOR(name, kind, scalar) name,
  BLASTOFF_ROUTINES(BLASTOFF_ENUMERATOR)
#undef BLASTOFF_ENUMERATOR
};

/// One row of the table.
struct RoutineRow {
  const char* name;  ///< BLAS name without decoration, for example "dgemm"
  Kind kind;
  Scalar scalar;
};

/// All rows, indexed by Routine.
std::span<const RoutineRow> routines();

inline const RoutineRow& row(Routine routine) { return routines()[static_cast<std::size_t>(routine)]; }

}  // namespace blastoff::blas
