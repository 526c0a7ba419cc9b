#include "fft/footprint.h"

#include <algorithm>
#include <array>

namespace blastoff::fft {
namespace {

struct Loop {
  std::int64_t length;
  std::int64_t stride;
};

/// The loops over one side, those of one element left out.
class Loops {
 public:
  void add(std::int64_t length, std::int64_t stride) {
    if (length > 1) loops_[count_++] = {length, stride};
  }
  void sort() {
    std::sort(loops_.begin(), loops_.begin() + static_cast<std::ptrdiff_t>(count_),
              [](const Loop& left, const Loop& right) { return left.stride < right.stride; });
  }
  const Loop* begin() const { return loops_.data(); }
  const Loop* end() const { return loops_.data() + count_; }

 private:
  std::array<Loop, 2 * Dimensions::most> loops_{};
  std::size_t count_ = 0;
};

std::optional<Footprint> matrix_of(Loops loops) {
  loops.sort();
  Footprint matrix{1, 1, 1};
  for (const Loop& loop : loops) {
    if (matrix.columns == 1 && loop.stride == matrix.rows) {
      matrix.rows *= loop.length;
      matrix.leading_dimension = matrix.rows;
    } else if (matrix.columns == 1 && loop.stride > matrix.rows) {
      matrix.columns = loop.length;
      matrix.leading_dimension = loop.stride;
    } else if (matrix.columns > 1 && loop.stride == matrix.leading_dimension * matrix.columns) {
      matrix.columns *= loop.length;
    } else {
      return std::nullopt;
    }
  }
  return matrix;
}

bool holds(const Footprint& complex, const Footprint& real) {
  if (complex.contiguous()) return real.span() <= 2 * complex.rows;
  return real.columns == complex.columns && real.leading_dimension == 2 * complex.leading_dimension &&
         real.rows <= 2 * complex.rows;
}

}  // namespace

std::optional<Footprint> input_footprint(const Transform& transform) {
  Loops loops;
  for (std::size_t i = 0; i < transform.dims.size(); ++i)
    loops.add(transform.in_length(i), transform.dims.all()[i].in_stride);
  for (const Dimension& batch : transform.batches.all()) loops.add(batch.length, batch.in_stride);
  return matrix_of(loops);
}

std::optional<Footprint> output_footprint(const Transform& transform) {
  Loops loops;
  for (std::size_t i = 0; i < transform.dims.size(); ++i)
    loops.add(transform.out_length(i), transform.dims.all()[i].out_stride);
  for (const Dimension& batch : transform.batches.all()) loops.add(batch.length, batch.out_stride);
  return matrix_of(loops);
}

std::optional<Footprint> common_footprint(const Transform& transform) {
  const auto in = input_footprint(transform);
  const auto out = output_footprint(transform);
  if (!in || !out) return std::nullopt;
  if (transform.request.kind == Kind::c2c) return *in == *out ? in : std::nullopt;
  const Footprint& complex = transform.real_input() ? *out : *in;
  const Footprint& real = transform.real_input() ? *in : *out;
  return holds(complex, real) ? std::optional(complex) : std::nullopt;
}

}  // namespace blastoff::fft
