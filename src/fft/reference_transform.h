// A transform that the library computes itself on the CPU, for transforms whose own library cannot be asked.
#pragma once

#include "operation/host.h"

namespace blastoff::fft {

/// Computes pocketfft's transforms for the simulated device and for verification, where NumPy and SciPy cannot: Python
/// must not run on threads that hold our locks. Computes in double precision. Slower than any library; the time of a
/// length with a prime factor p grows by p for each element.
class ReferenceTransform final : public operation::Host {
 public:
  bool can_compute(const operation::Operation& operation) const override;
  bool compute(const operation::Operation& operation) const override;
};

}  // namespace blastoff::fft
