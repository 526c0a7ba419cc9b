// A generator of one thread's reproducible random choices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace coherence {

class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : engine_(seed * 0x9E3779B97F4A7C15ULL + stream) {}

  /// A number from 0 to count - 1.
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(engine_() % count); }
  /// A number from low to high.
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(below(static_cast<std::size_t>(high - low + 1)));
  }
  bool one_in(std::size_t count) { return below(count) == 0; }
  /// A number in [-1, 1].
  double unit() { return static_cast<double>(engine_() >> 11) * 0x1p-52 - 1; }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[below(choices.size())];
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace coherence
