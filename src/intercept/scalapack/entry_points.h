// The names of ScaLAPACK: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include <array>
#include <string_view>

#include "intercept/routine_table.h"
#include "scalapack/routine.h"

namespace blastoff::intercept {

extern const RoutineTable scalapack_routines;

/// Indexed by the number of the routine.
inline constexpr std::array<std::string_view, scalapack::routine_count> scalapack_names = {
#define BLASTOFF_NAME(name, kind, scalar, library, local, words) #name,
    BLASTOFF_SCALAPACK_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

/// Hooks replace patched functions: one for each routine.
Hook scalapack_hook(abi::Style style, std::uint16_t routine);

/// Indexed by scalapack::Routine: a name has one spelling.
extern const EntryPoint scalapack_entry_points[scalapack::routine_count];

}  // namespace blastoff::intercept
