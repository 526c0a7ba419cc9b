// --verify: compares the result of an offloaded transform with that of the program's own FFTW.
#pragma once

#include <memory>

#include "operation/host.h"
#include "operation/verification.h"

namespace blastoff::fft {

/// The relative error is ||x - y|| / ||y||, the norms over all results. Its bound is 16 epsilon log2 N: for a transform
/// of N points, FFTW and cuFFT both stay below epsilon sqrt(log2 N) where N has small factors, and below some
/// epsilon log2 N where a prime factor takes a convolution (J. C. Schatzman, SIAM J. Sci. Comput. 17 (1996) 1150). An
/// error of one element stands out where it is larger than the bound times the norm of all. Results with NaN or
/// infinity in FFTW's own are not checked.
std::unique_ptr<operation::Verification> verify(const operation::Operation& operation, const operation::Host& host);

}  // namespace blastoff::fft
