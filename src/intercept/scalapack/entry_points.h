// The exported names of ScaLAPACK, one EntryPoint each.
#pragma once

#include "intercept/routine_table.h"
#include "scalapack/routine.h"

namespace blastoff::intercept {

extern const RoutineTable scalapack_routines;

/// Indexed by scalapack::Routine: a name has one spelling.
extern const EntryPoint scalapack_entry_points[scalapack::routine_count];

}  // namespace blastoff::intercept
