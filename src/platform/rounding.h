// The direction in which this thread's arithmetic rounds.
#pragma once

#include <cfenv>

namespace blastoff::platform {

/// False under fesetround(FE_DOWNWARD) and its like: interval arithmetic relies on the direction. Subnormal numbers may
/// be flushed to zero in either case: compilers switch that on for whole programs, which gain nothing from exactness.
inline bool rounds_to_nearest() {
  std::fenv_t environment;
  if (std::fegetenv(&environment) != 0) return false;
  const auto rounds = [](const auto& state) {
    // On x86 the C library's fegetround() looks at the registers of long double alone.
    constexpr unsigned both_bits = 0x6000;
    if constexpr (requires { state.__mxcsr; }) return (state.__mxcsr & both_bits) == 0;
    return std::fegetround() == FE_TONEAREST;
  };
  return rounds(environment);
}

}  // namespace blastoff::platform
