// The transform that a plan of FFTW's computes: a discrete Fourier transform and the layout of its arrays.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace blastoff::fft {

enum class Kind : std::uint8_t { c2c, r2c, c2r };

enum class Precision : std::uint8_t { f64, f32 };

/// One loop over elements, either of the transform itself or of independent transforms. Strides count elements of the
/// input or the output: complex numbers, or real numbers if that side is real.
struct Dimension {
  std::int64_t length = 0;  ///< the length on the real side, if there is one
  std::int64_t in_stride = 0;
  std::int64_t out_stride = 0;
  bool operator==(const Dimension& other) const = default;
};

/// A list of few dimensions.
class Dimensions {
 public:
  static constexpr std::size_t max_count = 6;

  /// Returns false if there is no room for another.
  bool add(const Dimension& dimension) {
    if (count_ == max_count) return false;
    dimensions_[count_++] = dimension;
    return true;
  }
  std::span<const Dimension> all() const { return {dimensions_.data(), count_}; }
  std::span<Dimension> all() { return {dimensions_.data(), count_}; }
  std::size_t size() const { return count_; }

 private:
  std::array<Dimension, max_count> dimensions_{};
  std::uint8_t count_ = 0;
};

/// The arguments of a planner, apart from sizes.
struct Request {
  Kind kind = Kind::c2c;
  Precision precision = Precision::f64;
  int sign = -1;          ///< sign of the exponent; r2c has -1, c2r 1
  bool in_place = false;  ///< input and output are the same array
};

struct Transform {
  Request request;
  Dimensions dims;     ///< as in FFTW's guru interface: for r2c and c2r, the complex side has half the length of the
                       ///< last dimension, plus 1
  Dimensions batches;  ///< loops over independent transforms
  double factor = 1;   ///< by which the results are multiplied

  bool real_input() const { return request.kind == Kind::r2c; }
  bool real_output() const { return request.kind == Kind::c2r; }
  std::size_t real_bytes() const { return request.precision == Precision::f64 ? 8 : 4; }
  std::size_t in_element_bytes() const { return real_bytes() * (real_input() ? 1 : 2); }
  std::size_t out_element_bytes() const { return real_bytes() * (real_output() ? 1 : 2); }

  /// length(): points of one transform, on its real side. points(): points of all transforms together.
  double length() const;
  double points() const;

  /// 5 N log2 N for each complex transform of N points, half of that for a real one (FFTW's own convention).
  double flops() const;

  /// Number of elements of dimension `index` of `dims` in the input or the output.
  std::int64_t in_length(std::size_t index) const;
  std::int64_t out_length(std::size_t index) const;
};

/// The arguments of plan_many_dft for the input or the output.
struct Embedding {
  std::span<const std::int64_t> lengths;  ///< inembed or onembed; empty for NULL
  std::int64_t stride = 1;
  std::int64_t distance = 0;
};

// Each function returns nothing if a Transform cannot represent the arguments: no dimension, a length below 1, a stride
// below 1, too many dimensions, addresses beyond 2^46 elements.

/// plan_dft_1d, ..., plan_dft: FFTW's default layout, row-major. The lines of a real array in place are padded.
std::optional<Transform> basic(const Request& request, std::span<const std::int64_t> lengths);

/// plan_many_dft and its like.
std::optional<Transform> many(const Request& request, std::span<const std::int64_t> lengths, std::int64_t howmany,
                              const Embedding& in, const Embedding& out);

/// plan_guru_dft and its like. Leaves out dimensions of one point.
std::optional<Transform> guru(const Request& request, std::span<const Dimension> dims,
                              std::span<const Dimension> batches);

}  // namespace blastoff::fft
