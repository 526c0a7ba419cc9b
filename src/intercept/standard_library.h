// Loads the BLAS library that the linker left out. In a program that was linked with `-lblastoff -lblas`, the first
// library defines every name of BLAS. A linker that keeps only the libraries that it needs (--as-needed) drops the
// second one, and then there is no original.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// Loads the library in which a system keeps the routine (RoutineTable::system_libraries), found as the caller would
/// find it, and says so in one line. Returns its definition. nullptr if no loaded object was linked with Blastoff, if
/// the name belongs to 64-bit integers or to SciPy's build, or if there is no such library.
void* load_standard_definition(const EntryPoint& entry, const void* caller);

}  // namespace blastoff::intercept
