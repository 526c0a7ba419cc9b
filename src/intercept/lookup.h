// The slow way to an original: asking the dynamic linker.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// The definition of `symbol` that is not ours and that an object calling from `caller` would have bound; nullptr if no
/// loaded object has one.
void* find_definition(const char* symbol, const void* caller);

/// Whether a function of an undecorated name is the front end's routine: its object has it under the Fortran name too,
/// or has all the routines that accompany it under undecorated names.
bool is_own_routine(const EntryPoint& entry, void* function);

/// The integers of the library that defines `function` under an unsuffixed name.
abi::IntegerWidth integer_width(const void* function);

}  // namespace blastoff::intercept
