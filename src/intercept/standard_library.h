// The library that the linker left out. A program that was linked with `-lblastoff -lblas` finds every name of BLAS in
// the first one, so a linker that keeps only what is needed (--as-needed) drops the second one, and no original is
// left.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// Loads the library in which a system keeps the routine (RoutineTable::system_libraries), found as the caller would
/// find it, and says so in one line. Returns its definition; nullptr if no loaded object was linked with Blastoff, the
/// name tells of 64-bit integers or of somebody's own build, or there is no such library.
void* load_standard_definition(const EntryPoint& entry, const void* caller);

}  // namespace blastoff::intercept
