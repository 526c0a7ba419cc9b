// The names under which transforms are counted.
#pragma once

#include <cstddef>

namespace blastoff::fft {

/// Each front end has one routine for each kind and precision, whichever function executes it.
inline constexpr std::size_t front_end_routines = 6;

/// Indexed by front_end_routine(). An fftw_execute() counts as the function that executes the same plan on other
/// arrays.
inline constexpr const char* fftw_names[front_end_routines] = {"fftw_execute_dft",      "fftw_execute_dft_r2c",
                                                               "fftw_execute_dft_c2r",  "fftwf_execute_dft",
                                                               "fftwf_execute_dft_r2c", "fftwf_execute_dft_c2r"};

/// By the kinds of numbers in and out, as in the names of cuFFT. DFTI is MKL's interface: DftiComputeForward and its
/// like execute transforms of all kinds.
inline constexpr const char* dfti_names[front_end_routines] = {"dfti_z2z", "dfti_d2z", "dfti_z2d",
                                                               "dfti_c2c", "dfti_r2c", "dfti_c2r"};
inline constexpr const char* pocketfft_names[front_end_routines] = {"pocketfft_z2z", "pocketfft_d2z", "pocketfft_z2d",
                                                                    "pocketfft_c2c", "pocketfft_r2c", "pocketfft_c2r"};

}  // namespace blastoff::fft
