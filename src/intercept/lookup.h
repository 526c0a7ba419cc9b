// The slow path to an original: asking the dynamic linker.
#pragma once

#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// The definition of `symbol`, other than ours, to which an object that calls from `caller` would be bound; nullptr if
/// no loaded object defines it.
void* find_definition(const char* symbol, const void* caller);

/// The same, among what the dynamic linker finds from there by itself. Takes no memory.
void* find_definition_in_reach(const char* symbol, const void* caller);

/// Whether a function of an undecorated name is the front end's routine: its object has it under the Fortran name too,
/// or has all the routines that accompany it under undecorated names.
bool is_own_routine(const EntryPoint& entry, void* function);

/// The integers of the library that defines `function` under an unsuffixed name.
abi::IntegerWidth integer_width(const void* function);

}  // namespace blastoff::intercept
