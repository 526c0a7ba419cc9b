// The names of FFTW's functions.
#pragma once

#include <array>
#include <string_view>

#include "fft/routine.h"

namespace blastoff::intercept {

/// Indexed by the number of the routine.
inline constexpr std::array<std::string_view, fft::routine_count> fft_names = {
#define BLASTOFF_NAME(name, style, function, kind, precision, form, words) #name,
    BLASTOFF_FFT_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

}  // namespace blastoff::intercept
