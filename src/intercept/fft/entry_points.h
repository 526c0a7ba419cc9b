// The names of FFTW: those of its routines, those that are exported, and the hooks for patched functions.
#pragma once

#include "fft/routine.h"
#include "intercept/routine_table.h"

namespace blastoff::intercept {

extern const RoutineTable fft_routines;

/// Indexed by the number of the routine.
inline constexpr auto fft_names = names_of(fft::routine_table);

/// Hooks replace patched functions: one for each routine.
Hook fft_hook(abi::Style style, std::uint16_t routine);

/// Indexed by fft::Routine: a name has one spelling, in C and in Fortran.
extern const EntryPoint fft_entry_points[fft::routine_count];

}  // namespace blastoff::intercept
