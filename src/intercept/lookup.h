// The slow path to an original: it asks the dynamic linker.
#pragma once

#include "intercept/original.h"

namespace blastoff::intercept {

/// Returns the definition of `symbol`, other than ours, to which the linker would bind a call from `caller`; nullptr if
/// no loaded object defines it.
void* find_definition(const char* symbol, const void* caller);

/// The same, but only among the definitions that the dynamic linker finds from `caller` by itself. Allocates no memory.
void* find_definition_in_reach(const char* symbol, const void* caller);

/// Returns how to call the function that was found for an entry point, and whether there is evidence that it is the
/// routine. Only then may it be intercepted.
Original judged(const EntryPoint& entry, void* function);

}  // namespace blastoff::intercept
