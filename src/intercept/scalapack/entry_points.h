// The names of ScaLAPACK: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include "intercept/routine_table.h"
#include "scalapack/routine.h"

namespace blastoff::intercept {

extern const RoutineTable scalapack_routines;

/// Indexed by the number of the routine.
inline constexpr auto scalapack_names = names_of(scalapack::routine_table);

/// Hooks replace patched functions: one for each routine.
Hook scalapack_hook(abi::Style style, std::uint16_t routine);

/// Indexed by scalapack::Routine: a name has one spelling.
extern const EntryPoint scalapack_entry_points[scalapack::routine_count];

}  // namespace blastoff::intercept
