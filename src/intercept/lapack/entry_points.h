// The names of LAPACK: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include "intercept/routine_table.h"
#include "intercept/spellings.def"
#include "lapack/routine.h"

namespace blastoff::intercept {

extern const RoutineTable lapack_routines;

/// Indexed by the number of the routine.
inline constexpr auto lapack_names = names_of(lapack::routine_table);

/// Hooks replace patched functions: one for each routine.
Hook lapack_hook(abi::Style style, std::uint16_t routine);

/// Converts a LAPACK routine to a Routine, which numbers the routines of all front ends.
constexpr Routine lapack_routine(lapack::Routine routine) {
  return {&lapack_routines, static_cast<std::uint16_t>(routine)};
}

/// Converts a Routine of lapack_routines back to a LAPACK routine.
constexpr lapack::Routine lapack_routine(const Routine& routine) {
  return static_cast<lapack::Routine>(routine.number);
}

#define BLASTOFF_LAPACK_SPELLINGS(X, name, kind, scalar) \
  BLASTOFF_FORTRAN_SPELLINGS(X, name, kind, scalar)      \
  BLASTOFF_UNDECORATED_SPELLINGS(X, name, kind, scalar)

/// Indices into lapack_entry_points: all spellings of the first routine, of the second, ...
enum class LapackEntryIndex : int {
#define BLASTOFF_INDICES(name, kind, scalar) BLASTOFF_LAPACK_SPELLINGS(BLASTOFF_INDEX, name, kind, scalar)
  BLASTOFF_LAPACK_ROUTINES(BLASTOFF_INDICES)
#undef BLASTOFF_INDICES
      count,
};

/// In the order of LapackEntryIndex.
extern const EntryPoint lapack_entry_points[static_cast<int>(LapackEntryIndex::count)];

}  // namespace blastoff::intercept
