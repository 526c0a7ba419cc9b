// Floating-point exceptions of our own arithmetic, and the direction in which the program's arithmetic rounds.
#pragma once

#include <cfenv>
#include <type_traits>

namespace blastoff::platform {

/// From here to end(), this thread's arithmetic is ours: an invalid operation or a division by zero neither reaches a
/// trap of the program nor leaves a flag. For short arithmetic between calls of others, since it costs less than
/// runtime::CallersEnvironment. Has no destructor, since the thread may be cancelled anywhere in a frame that holds it
/// (docs/notes.md, "Nothing to clean up").
class OwnArithmetic {
 public:
#ifdef __SSE__
  OwnArithmetic() : programs_(__builtin_ia32_stmxcsr()) {
    set(programs_ | masks);
  }
  void end() const {
    set(programs_);
  }
#else
  OwnArithmetic() {
    std::feholdexcept(&programs_);
  }
  void end() const {
    std::fesetenv(&programs_);
  }
#endif

 private:
#ifdef __SSE__
  static constexpr unsigned masks = 0x1f80;

  // No arithmetic on what lies in memory is moved past this.
  static void set(unsigned control) {
    __asm__ volatile("ldmxcsr %0" : : "m"(control) : "memory");
  }

  unsigned programs_;
#else
  std::fenv_t programs_;
#endif
};
static_assert(std::is_trivially_destructible_v<OwnArithmetic>);

/// Whether this thread's arithmetic rounds to the nearest number. False under fesetround(FE_DOWNWARD) and other
/// directions, on which interval arithmetic relies. Flushing subnormal numbers to zero does not matter here: compilers
/// switch it on for whole programs, which gain nothing from exactness.
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
