// Guesses the width of a library's integers from its file name.
#pragma once

namespace blastoff::intercept {

/// Whether the name says that the library has 64-bit integers ("libopenblas64.so", "libmkl_intel_ilp64.so"). Not all
/// such libraries say so: this is an expectation for a library that cannot be asked, not evidence.
bool names_wide_integers(const char* library);

}  // namespace blastoff::intercept
