// The names of BLAS: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include <span>
#include "blas/routine.h"
#include "intercept/routine_table.h"
#include "intercept/spellings.def"

namespace blastoff::intercept {

extern const RoutineTable blas_routines;

/// Indexed by the number of the routine.
inline constexpr auto blas_names = names_of(blas::routine_table);

/// Hooks replace patched functions: one for each routine and calling style.
Hook blas_hook(abi::Style style, std::uint16_t routine);

/// Converts a BLAS routine to a Routine, which numbers the routines of all front ends.
constexpr Routine blas_routine(blas::Routine routine) {
  return {&blas_routines, static_cast<std::uint16_t>(routine)};
}

/// Converts a Routine of blas_routines back to a BLAS routine.
constexpr blas::Routine blas_routine(const Routine& routine) {
  return static_cast<blas::Routine>(routine.number);
}

/// Indices into entry_points(): all spellings of the first routine, of the second, ...
enum class EntryIndex : int {
#define BLASTOFF_INDICES(name, kind, scalar) BLASTOFF_SPELLINGS(BLASTOFF_INDEX, name, kind, scalar)
  BLASTOFF_EXPORTED_ROUTINES(BLASTOFF_INDICES)
#undef BLASTOFF_INDICES
      count,
};

inline constexpr int entry_point_count = static_cast<int>(EntryIndex::count);

/// The table, in the order of EntryIndex.
extern const EntryPoint entry_point_table[entry_point_count];

inline std::span<const EntryPoint> entry_points() {
  return entry_point_table;
}

}  // namespace blastoff::intercept
