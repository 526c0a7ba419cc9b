// A call of a BLAS routine that Blastoff makes itself, by words as a Fortran program passes them.
#pragma once

#include "blas/call.h"
#include "blas/routine.h"
#include "intercept/original.h"

namespace blastoff::intercept {

/// `words`: the routine's arguments, then the lengths of its letters. `caller`: a return address in the code for which
/// the call is made.
void enter_blas(const EntryPoint& entry, const Original& original, blas::Routine routine, void* const* words,
                const void* caller);

/// Reads the words, whose integers have 32 bits. Returns false if an option letter is invalid.
bool parse_blas(blas::Call& call, blas::Routine routine, void* const* words);

}  // namespace blastoff::intercept
