// Chooses at random which of many small calls are timed.
#pragma once

#include <cstdint>

namespace blastoff::report {

/// Selects one of `mean_spacing` calls on average, the first after a random number of calls. A fixed spacing could
/// match the program's own loops and always select the same call of several. The generator is xorshift64 (Marsaglia
/// 2003).
class Sampler {
 public:
  static constexpr std::uint32_t mean_spacing = 64;

  explicit constexpr Sampler(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15U | 1U), remaining_(draw()) {}

  /// Counts one call if it is not to be timed; else false, and the next take() is true.
  constexpr bool skip() {
    if (remaining_ <= 1) return false;
    --remaining_;
    return true;
  }

  /// Counts one call; true if it is to be timed.
  constexpr bool take() {
    if (--remaining_ > 0) return false;
    remaining_ = draw();
    return true;
  }

 private:
  /// 1 to 2 * mean_spacing - 1, each equally often.
  constexpr std::uint32_t draw() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return 1 + static_cast<std::uint32_t>((state_ >> 32U) % (2 * mean_spacing - 1));
  }

  std::uint64_t state_;
  std::uint32_t remaining_;
};

}  // namespace blastoff::report
