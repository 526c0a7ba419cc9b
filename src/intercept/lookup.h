// The slow path to an original: asking the dynamic linker.
#pragma once

#include "intercept/original.h"

namespace blastoff::intercept {

/// The definition of `symbol`, other than ours, to which an object that calls from `caller` would be bound; nullptr if
/// no loaded object defines it.
void* find_definition(const char* symbol, const void* caller);

/// The same, among what the dynamic linker finds from there by itself. Takes no memory.
void* find_definition_in_reach(const char* symbol, const void* caller);

/// How a definition under an entry's name is called, and whether there is evidence that it is the routine (only then it
/// is to be intercepted).
Original judged(const EntryPoint& entry, void* function);

}  // namespace blastoff::intercept
