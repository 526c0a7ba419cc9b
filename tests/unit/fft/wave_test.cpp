// The closed forms of a plane wave's Fourier sums equal those sums.
#include "fft/wave.h"

#include <gtest/gtest.h>

#include <cmath>

namespace blastoff::fft {
namespace {

using Exact = std::complex<long double>;

/// The sum of w(k) exp(sign 2 pi i j k / n) over k < count.
Exact direct_sum(const Wave& wave, std::int64_t n, int sign, std::int64_t j, std::int64_t count) {
  Exact sum = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    const auto turns = static_cast<long double>(j * k % n) / static_cast<long double>(n);
    const Wave::Number weight = wave.weight(k);
    sum += Exact(weight.real(), weight.imag()) * std::polar(1.0L, sign * 2 * 3.14159265358979323846264338L * turns);
  }
  return sum;
}

double distance(Wave::Number found, Exact expected) {
  return static_cast<double>(std::abs(Exact(found.real(), found.imag()) - expected));
}

TEST(Wave, SumsAreThoseOfItsWeights) {
  std::mt19937_64 engine(1);
  for (std::int64_t n : {1, 2, 3, 4, 5, 7, 8, 12, 31, 64, 255, 256, 257, 511}) {
    for (const int sign : {-1, 1}) {
      const Wave wave(n, sign, engine);
      const double tolerance = 1e-15 * std::sqrt(static_cast<double>(n)) * 8;
      for (std::int64_t j = 0; j < n; ++j) {
        const Exact whole = direct_sum(wave, n, sign, j, n);
        const Exact half = direct_sum(wave, n, sign, j, n / 2 + 1);
        EXPECT_LT(distance(wave.sum(j), whole), tolerance * (1 + static_cast<double>(std::abs(whole))))
            << n << " " << j;
        EXPECT_LT(distance(wave.half_sum(j), half), tolerance * (1 + static_cast<double>(std::abs(half))))
            << n << " " << j;
      }
    }
  }
}

TEST(Wave, WeightsHaveOneMagnitude) {
  std::mt19937_64 engine(2);
  const Wave wave(100003, -1, engine);
  for (std::int64_t k = 0; k < 100003; k += 7) ASSERT_NEAR(std::abs(wave.weight(k)), 1, 1e-15);
}

/// The largest sums are accurate too, as one long line requires.
TEST(Wave, SumsOfALongWaveAreAccurate) {
  std::mt19937_64 engine(3);
  constexpr std::int64_t n = 1 << 18;
  const Wave wave(n, 1, engine);
  // The norm of the sums is n for every wave.
  double squares = 0;
  double largest = 0;
  std::int64_t where = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    const double size = std::abs(wave.sum(j));
    squares += size * size;
    if (size > largest) where = j;
    largest = std::max(largest, size);
  }
  EXPECT_NEAR(std::sqrt(squares) / n, 1, 1e-12);
  for (const std::int64_t j : {where, (where + 1) % n, (where + n / 2) % n, (where + 5) % n}) {
    const Exact exact = direct_sum(wave, n, 1, j, n);
    EXPECT_LT(distance(wave.sum(j), exact) / static_cast<double>(std::abs(exact)), 1e-10) << j - where;
  }
}

}  // namespace
}  // namespace blastoff::fft
