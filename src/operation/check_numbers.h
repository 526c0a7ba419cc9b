// Numbers for the checks of results.
#pragma once

#include <atomic>
#include <complex>
#include <cstdint>

namespace blastoff::operation {

/// For a product of two std::complex, compilers emit a call that handles NaN.
inline std::complex<double> times(std::complex<double> a, std::complex<double> b) {
  return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
}

/// Another seed for each check; the same ones in each run.
inline std::uint64_t next_seed() {
  static std::atomic<std::uint64_t> seed{1};
  return seed.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace blastoff::operation
