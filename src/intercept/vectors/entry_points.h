// The names of the routines of level 1: those of the routines, those that are exported, and the hooks for patched
// functions.
#pragma once

#include "blas/vector_routine.h"
#include "intercept/routine_table.h"
#include "intercept/spellings.def"

namespace blastoff::intercept {

extern const RoutineTable vector_routines;

/// Indexed by blas::VectorRoutine.
inline constexpr auto vector_names = names_of(blas::vector_routine_table);

/// Hooks replace patched functions: one for each routine and calling style.
Hook vector_hook(abi::Style style, std::uint16_t routine);

/// Undecorated names are left alone: "dscal" may be anybody's.
#define BLASTOFF_VECTOR_SPELLINGS(Y, name, kind, scalar) \
  BLASTOFF_FORTRAN_SPELLINGS(Y, name, kind, scalar)      \
  BLASTOFF_CBLAS_SPELLINGS(Y, name, kind, scalar)

/// Indices into vector_entry_points: all spellings of the first routine, of the second, ...
enum class VectorEntryIndex : int {
#define BLASTOFF_INDICES(name, kind, scalar, factor) BLASTOFF_VECTOR_SPELLINGS(BLASTOFF_INDEX, name, kind, scalar)
  BLASTOFF_VECTOR_ROUTINES(BLASTOFF_INDICES)
#undef BLASTOFF_INDICES
      count,
};

/// In the order of VectorEntryIndex.
extern const EntryPoint vector_entry_points[static_cast<int>(VectorEntryIndex::count)];

}  // namespace blastoff::intercept
