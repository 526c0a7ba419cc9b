#include "fft/footprint.h"

#include <algorithm>
#include <array>

namespace blastoff::fft {
namespace {

struct Loop {
  std::int64_t length;
  std::int64_t stride;
};

/// The loops over the input or the output, without loops of one element.
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
  std::array<Loop, 2 * Dimensions::max_count> loops_{};
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

/// Whether each step of a loop begins at the same place in input and output. Otherwise a library that works in place
/// might write one line before it has read another.
bool coincides(const Transform& transform, const Dimension& loop) {
  switch (transform.request.kind) {
    case Kind::c2c: return loop.in_stride == loop.out_stride;
    case Kind::r2c: return loop.in_stride == 2 * loop.out_stride;
    case Kind::c2r: return 2 * loop.in_stride == loop.out_stride;
  }
  return false;
}

bool sides_coincide(const Transform& transform) {
  const auto dims = transform.dims.all();
  const bool halves = transform.request.kind != Kind::c2c;
  if (halves && (dims.back().in_stride != 1 || dims.back().out_stride != 1)) return false;
  const auto coincide = [&](const Dimension& loop) { return coincides(transform, loop); };
  const auto batches = transform.batches.all();
  return std::all_of(dims.begin(), halves ? dims.end() - 1 : dims.end(), coincide) &&
         std::all_of(batches.begin(), batches.end(), coincide);
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
  if (!sides_coincide(transform)) return std::nullopt;
  // A line of complex numbers holds the line of real numbers from which it is computed.
  return transform.real_output() ? input_footprint(transform) : output_footprint(transform);
}

}  // namespace blastoff::fft
