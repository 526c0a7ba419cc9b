// A random plane wave along one dimension, and its transforms: the weights of a functional and of its adjoint, in
// closed form.
#pragma once

#include <complex>
#include <cstdint>
#include <random>
#include <vector>

#include "operation/check_numbers.h"

namespace blastoff::fft {

/// The wave is w(k) = exp(2 pi i (m + u) k / n), where m < n is an integer, and u lies between 1/4 and 3/4. Because the
/// frequency is not an integer, no sum of the wave is small by chance. All values have full relative precision.
class Wave {
 public:
  using Number = std::complex<double>;

  /// `sign`: sign of the transform's exponent.
  Wave(std::int64_t length, int sign, std::mt19937_64& engine);

  /// w(k), for k < n.
  Number weight(std::int64_t k) const;

  /// The sum of w(k) exp(sign 2 pi i j k / n) over k < n. With z = exp(2 i phi), phi = pi (q + u) / n and
  /// q = m + sign j mod n, it is (1 - z^n) / (1 - z) = exp(i pi u) sin(pi u) (cot phi - i).
  Number sum(std::int64_t j) const;

  /// The same sum over k <= n / 2 only: (1 - z^h) / (1 - z).
  Number half_sum(std::int64_t j) const;

 private:
  struct Angle {
    std::int64_t q;
    double sine;
    double cosine;
  };
  Angle angle(std::int64_t j) const;

  static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }

  static constexpr std::int64_t fine_steps = 256;  // a power of 2, because each element needs a division by it

  std::int64_t n_;
  int sign_;
  std::int64_t m_;
  double u_;
  Number half_turn_;  ///< exp(i pi u)
  // exp(i (a + b)) is computed as exp(i a) exp(i b), where b is one of a few angles.
  std::vector<Number> fine_weights_, coarse_weights_;
  std::vector<Number> fine_angles_, fine_mirrored_angles_, coarse_angles_;
};

inline Wave::Number Wave::weight(std::int64_t k) const {
  return operation::times(coarse_weights_[index(k / fine_steps)], fine_weights_[index(k % fine_steps)]);
}

inline Wave::Angle Wave::angle(std::int64_t j) const {
  const std::int64_t turned = sign_ > 0 ? m_ + j : m_ - j + n_;
  const std::int64_t q = turned < n_ ? turned : turned - n_;
  // Both angles are below pi / 2, and the terms of the sine are positive, so no digits cancel.
  const bool mirrored = 2 * q + 1 > n_;
  const std::int64_t p = mirrored ? n_ - 1 - q : q;
  const auto& fine = mirrored ? fine_mirrored_angles_ : fine_angles_;
  const Number e = operation::times(coarse_angles_[index(p / fine_steps)], fine[index(p % fine_steps)]);
  return {q, e.imag(), mirrored ? -e.real() : e.real()};
}

inline Wave::Number Wave::sum(std::int64_t j) const {
  const Angle phi = angle(j);
  const double cotangent = phi.cosine / phi.sine;
  return operation::times(half_turn_ * half_turn_.imag(), {cotangent, -1});
}

inline Wave::Number Wave::half_sum(std::int64_t j) const {
  const Angle phi = angle(j);
  const Number e(phi.cosine, phi.sine);
  // If n is even, z^h is exp(i pi (q + u)) times z; if n is odd, times exp(i phi).
  const Number power =
      operation::times(phi.q % 2 == 0 ? half_turn_ : -half_turn_, n_ % 2 == 0 ? operation::times(e, e) : e);
  // 1 - z = -2 i sin phi exp(i phi)
  return operation::times(Number(1) - power, operation::times(Number(0, 0.5), std::conj(e))) / phi.sine;
}

}  // namespace blastoff::fft
