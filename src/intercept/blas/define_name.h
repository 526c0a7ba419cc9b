// BLASTOFF_DEFINE_NAME defines one exported name.
//
// dgemm_, cblas_dgemm or dgemm may be a BLAS routine, or a program's own function with the same name. Blastoff must not
// read through an argument before it knows which. So the exported name passes the call on, either to Blastoff's routine
// or to the program's own function. That function finds its registers and the stack as the caller left them, and
// returns directly to the caller. Words on the stack are not even copied: they may be the caller's own variables, which
// other threads are writing. A suffix with 64 is no exception: dgemm_64 may be a product of matrices of that order.
#pragma once

#include "intercept/blas/enter.h"
#include "intercept/blas/entry_points.h"
#include "intercept/bound_name.h"

#define BLASTOFF_DEFINE_NAME(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  BLASTOFF_DEFINE_NAME_OF(prefix##name##suffix, blastoff::intercept::blas_entry_points,       \
                          blastoff::intercept::BlasEntryIndex::prefix##name##suffix,          \
                          blastoff::intercept::EnterBlas<blastoff::abi::Style::style, blastoff::blas::Routine::name>)
