// The direction in which this thread's arithmetic rounds.
#pragma once

#include <cfenv>

namespace blastoff::platform {

/// False under fesetround(FE_DOWNWARD) and its like: interval arithmetic relies on the direction. Subnormal numbers may
/// be flushed to zero in either case: compilers switch that on for whole programs, which gain nothing from exactness.
inline bool rounds_to_nearest() {
#ifdef __SSE__
  // The C library's fegetround() looks at the registers of long double alone; its fegetenv() takes 50 ns.
  constexpr unsigned both_bits = 0x6000;
  return (__builtin_ia32_stmxcsr() & both_bits) == 0;
#else
  return std::fegetround() == FE_TONEAREST;
#endif
}

}  // namespace blastoff::platform
