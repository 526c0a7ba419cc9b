// The plans that the program has made and not yet destroyed, by their addresses.
#pragma once

#include "fft/plan.h"

namespace blastoff::fft {

/// Finds a plan without a lock, in some nanoseconds. nullptr: the plan is not known, and the original executes it. The
/// plan exists until it is forgotten. A program that executes a plan while it destroys it is wrong with FFTW too.
const Plan* find_plan(const void* handle);

/// Replaces the plan that was known at the same address: it must have been destroyed.
void remember_plan(const Plan& plan);

/// To be called before the plan is destroyed, and when an unknown plan has its address.
void forget_plan(const void* handle);

}  // namespace blastoff::fft
