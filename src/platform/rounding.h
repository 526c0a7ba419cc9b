// The direction in which this thread's arithmetic rounds.
#pragma once

#include <cfenv>

namespace blastoff::platform {

/// False under fesetround(FE_DOWNWARD) and other directions, on which interval arithmetic relies. Flushing subnormal
/// numbers to zero does not matter here: compilers switch it on for whole programs, which gain nothing from exactness.
inline bool rounds_to_nearest() {
#ifdef __SSE__
  // The C library's fegetround() reads the control word of long double only, and its fegetenv() takes 50 ns.
  constexpr unsigned both_bits = 0x6000;
  return (__builtin_ia32_stmxcsr() & both_bits) == 0;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

}  // namespace blastoff::platform
