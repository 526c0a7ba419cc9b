// --verify: compares the result of an offloaded transform with that of the program's own FFTW.
#pragma once

#include <memory>

#include "operation/host.h"
#include "operation/verification.h"

namespace blastoff::fft {

/// The relative error is ||x - y|| / ||y||, with norms over all results. Its bound is 16 epsilon log2 N. For a
/// transform of N points, FFTW and cuFFT both stay below epsilon sqrt(log2 N) if N has small factors, and below some
/// epsilon log2 N if a prime factor needs a convolution (J. C. Schatzman, SIAM J. Sci. Comput. 17 (1996) 1150). An
/// error of one element is found if it is larger than the bound times the norm of all results. Results that are so
/// small that a device may take them for zero count as larger ones. If FFTW's own results contain NaN or infinity, they
/// are not checked.
std::unique_ptr<operation::Verification> verify(const operation::Operation& operation, const operation::Host& host);

}  // namespace blastoff::fft
