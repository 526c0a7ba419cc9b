#include "fft/wave.h"

#include <algorithm>
#include <numbers>

namespace blastoff::fft {
namespace {

using Number = Wave::Number;
using std::numbers::pi;

/// exp(i pi numerator / n)
Number unit(double numerator, std::int64_t n) {
  return std::polar(1.0, pi * numerator / static_cast<double>(n));
}

}  // namespace

Wave::Wave(std::int64_t length, int sign, std::mt19937_64& engine)
    : n_(length),
      sign_(sign),
      m_(static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(length))),
      u_(0.25 + 0.5 * static_cast<double>(engine() >> 11) * 0x1p-53),
      half_turn_(unit(u_, 1)) {
  const std::int64_t steps = std::min(fine_steps, n_);
  const auto turns = [&](std::int64_t step, std::int64_t count, std::vector<Number>& weights) {
    // m times step times i, modulo n, without overflow.
    const std::int64_t each = m_ * step % n_;
    std::int64_t whole = 0;
    for (std::int64_t i = 0; i < count; ++i, whole = (whole + each) % n_)
      weights.push_back(unit(2 * (static_cast<double>(whole) + u_ * static_cast<double>(i * step)), n_));
  };
  turns(1, steps, fine_weights_);
  turns(fine_steps, (n_ - 1) / fine_steps + 1, coarse_weights_);
  for (std::int64_t q = 0; q < steps; ++q) {
    fine_angles_.push_back(unit(static_cast<double>(q) + u_, n_));
    fine_mirrored_angles_.push_back(unit(static_cast<double>(q) + 1 - u_, n_));
  }
  for (std::int64_t q = 0; q <= n_ / 2; q += fine_steps) coarse_angles_.push_back(unit(static_cast<double>(q), n_));
}

}  // namespace blastoff::fft
