// Weighted sums over the input or the output of a transform.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "fft/transform.h"
#include "fft/wave.h"
#include "platform/worker_pool.h"

namespace blastoff::fft {

using Number = Wave::Number;

/// A sum whose rounding errors are added up separately (A. Neumaier, ZAMM 54 (1974) 39).
class Sum {
 public:
  void add(double term) {
    const double next = sum_ + term;
    rest_ += std::abs(sum_) >= std::abs(term) ? (sum_ - next) + term : (term - next) + sum_;
    sum_ = next;
  }
  double value() const { return sum_ + rest_; }

 private:
  double sum_ = 0;
  double rest_ = 0;
};

/// Sums over a part of an array.
struct Sums {
  Sum real, imaginary;  ///< of elements times weights
  Sum squares;          ///< of the elements' squares
  Sum shares;           ///< of the elements' squares times their shares

  Number weighted() const { return {real.value(), imaginary.value()}; }
};

/// The weights of a line's elements, one block at a time.
class LineWeights {
 public:
  static constexpr std::int64_t block = 256;

  struct Block {
    std::array<double, block> real, imaginary, share;
  };

  /// weight(i) is the weight of element i, and share(i, weight) the share of its square.
  template <class Weight, class Share>
  LineWeights(std::int64_t length, const Weight& weight, const Share& share)
      : length_(length), fill_([length, weight, share](Block& values, std::int64_t number) {
          const std::int64_t first = number * block;
          for (std::int64_t i = first; i < std::min(length, first + block); ++i) {
            const auto at = static_cast<std::size_t>(i - first);
            const Number value = weight(i);
            values.real[at] = value.real();
            values.imaginary[at] = value.imag();
            values.share[at] = share(i, value);
          }
        }) {
    if (length > max_kept) return;
    blocks_.resize(static_cast<std::size_t>((length + block - 1) / block));
    for (std::size_t b = 0; b < blocks_.size(); ++b) fill_(blocks_[b], static_cast<std::int64_t>(b));
  }

  std::int64_t length() const { return length_; }

  const Block& at(std::int64_t number, Block& room) const {
    if (!blocks_.empty()) return blocks_[static_cast<std::size_t>(number)];
    fill_(room, number);
    return room;
  }

 private:
  static constexpr std::int64_t max_kept = 1 << 16;

  std::int64_t length_;
  std::function<void(Block&, std::int64_t)> fill_;
  std::vector<Block> blocks_;
};

/// A loop in which each step has a weight.
struct WeightedLoop {
  std::int64_t stride;
  std::vector<Number> weights;
};

/// The input or the output, with the weights of the functionals.
struct Side {
  const void* address;
  bool complex;
  std::int64_t parts = 1;
  std::int64_t part_stride = 0;
  std::vector<WeightedLoop> loops;
  std::int64_t line_stride;
  LineWeights line;
};

/// The sums over each part. `workers`: null, or threads that share the parts.
std::vector<Sums> read(const Side& side, Precision precision, platform::WorkerPool* workers);

/// One of the sums over all parts.
double total(const std::vector<Sums>& parts, Sum Sums::*which);

}  // namespace blastoff::fft
