// The plans that the program has made and not destroyed, by their addresses.
#pragma once

#include "fft/plan.h"

namespace blastoff::fft {

/// A look-up takes no lock and some nanoseconds. nullptr for plans that are not known: the original executes them.
/// The plan stays until it is forgotten; a program that executes a plan while it destroys it is wrong with FFTW too.
const Plan* find_plan(const void* handle);

/// Replaces what was known of that address, whose plan is gone if another one is there.
void remember_plan(const Plan& plan);

/// Before the plan is destroyed, or when another one that is not known has its address.
void forget_plan(const void* handle);

}  // namespace blastoff::fft
