// The exported names of FFTW, one EntryPoint each.
#pragma once

#include "fft/routine.h"
#include "intercept/routine_table.h"

namespace blastoff::intercept {

extern const RoutineTable fft_routines;

/// Indexed by fft::Routine: a name has one spelling, in C and in Fortran.
extern const EntryPoint fft_entry_points[fft::routine_count];

}  // namespace blastoff::intercept
