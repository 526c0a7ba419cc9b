// What a library's file name says about its integers.
#pragma once

namespace blastoff::intercept {

/// By convention a library of 64-bit integers says so in its name ("libopenblas64.so", "libmkl_intel_ilp64.so"). Not
/// all do: this is what to expect of a file that cannot be asked, and no evidence.
bool names_wide_integers(const char* library);

}  // namespace blastoff::intercept
