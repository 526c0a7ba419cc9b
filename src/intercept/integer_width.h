// The integer width of a library whose names do not show it.
#pragma once

#include "abi/convention.h"

namespace blastoff::intercept {

/// By convention a library of 64-bit integers says so in its name ("libopenblas64.so", "libmkl_intel_ilp64.so").
bool names_wide_integers(const char* library);

/// That convention, and MKL's single library, which takes its width from the environment.
abi::IntegerWidth library_integer_width(const char* path);

}  // namespace blastoff::intercept
