#include "fft/weighted_sums.h"

#include <complex>

#include "operation/check_numbers.h"

namespace blastoff::fft {
namespace {

using operation::times;

template <class Real, bool complex>
class Reader {
 public:
  explicit Reader(const Side& side) : side_(side) {}

  Sums part(std::int64_t number) {
    sums_ = {};
    read_loops(0, number * side_.part_stride, 1);
    return sums_;
  }

 private:
  void read_loops(std::size_t depth, std::int64_t offset, Number weight) {
    if (depth == side_.loops.size()) return read_line(offset, weight);
    const WeightedLoop& loop = side_.loops[depth];
    for (const Number factor : loop.weights) {
      read_loops(depth + 1, offset, times(weight, factor));
      offset += loop.stride;
    }
  }

  void read_line(std::int64_t offset, Number weight) {
    const std::int64_t step = side_.line_stride * (complex ? 2 : 1);
    const auto* x = static_cast<const Real*>(side_.address) + offset * (complex ? 2 : 1);
    const double share = std::norm(weight);
    std::int64_t left = side_.line.length();
    for (std::int64_t number = 0; left > 0; ++number, left -= LineWeights::block) {
      const auto& weights = side_.line.at(number, room_);
      double real = 0, imaginary = 0, squares = 0, shares = 0;
      const auto count = static_cast<std::size_t>(std::min(left, LineWeights::block));
      for (std::size_t i = 0; i < count; ++i, x += step) {
        const auto re = static_cast<double>(x[0]);
        double square = re * re;
        real += weights.real[i] * re;
        imaginary += weights.imaginary[i] * re;
        if constexpr (complex) {
          const auto im = static_cast<double>(x[1]);
          square += im * im;
          real -= weights.imaginary[i] * im;
          imaginary += weights.real[i] * im;
        }
        squares += square;
        shares += weights.share[i] * square;
      }
      const Number weighted = times(weight, {real, imaginary});
      sums_.real.add(weighted.real());
      sums_.imaginary.add(weighted.imag());
      sums_.squares.add(squares);
      sums_.shares.add(share * shares);
    }
  }

  const Side& side_;
  Sums sums_;
  LineWeights::Block room_;
};

template <class Real, bool complex>
std::vector<Sums> read(const Side& side, platform::WorkerPool* workers) {
  std::vector<Sums> parts(static_cast<std::size_t>(side.parts));
  const std::int64_t shares =
      workers == nullptr ? 1 : std::min<std::int64_t>(side.parts, workers->workers() + std::int64_t{1});
  const auto read_share = [&](std::size_t share) {
    Reader<Real, complex> reader(side);
    const auto number = static_cast<std::int64_t>(share);
    for (std::int64_t i = number * side.parts / shares; i < (number + 1) * side.parts / shares; ++i)
      parts[static_cast<std::size_t>(i)] = reader.part(i);
  };
  if (shares == 1)
    read_share(0);
  else
    workers->run(static_cast<std::size_t>(shares), read_share);
  return parts;
}

}  // namespace

std::vector<Sums> read(const Side& side, Precision precision, platform::WorkerPool* workers) {
  if (precision == Precision::f64)
    return side.complex ? read<double, true>(side, workers) : read<double, false>(side, workers);
  return side.complex ? read<float, true>(side, workers) : read<float, false>(side, workers);
}

double total(const std::vector<Sums>& parts, Sum Sums::*which) {
  Sum sum;
  for (const Sums& part : parts) sum.add((part.*which).value());
  return sum.value();
}

}  // namespace blastoff::fft
