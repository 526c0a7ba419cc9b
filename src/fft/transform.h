// What a plan of FFTW's computes: a discrete Fourier transform and how its arrays lie in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace blastoff::fft {

enum class Kind : std::uint8_t { c2c, r2c, c2r };

enum class Precision : std::uint8_t { f64, f32 };

/// One loop over elements, of the transform itself or of independent transforms. Strides are in elements of each side:
/// complex numbers, or reals on the real side.
struct Dimension {
  std::int64_t length = 0;  ///< logical: that of the real side
  std::int64_t in_stride = 0;
  std::int64_t out_stride = 0;
  bool operator==(const Dimension& other) const = default;
};

/// A short list.
class Dimensions {
 public:
  static constexpr std::size_t most = 6;

  /// False where there is no room for another.
  bool add(const Dimension& dimension) {
    if (count_ == most) return false;
    dimensions_[count_++] = dimension;
    return true;
  }
  std::span<const Dimension> all() const { return {dimensions_.data(), count_}; }
  std::span<Dimension> all() { return {dimensions_.data(), count_}; }
  std::size_t size() const { return count_; }

 private:
  std::array<Dimension, most> dimensions_{};
  std::uint8_t count_ = 0;
};

/// What a planner is asked for, apart from sizes.
struct Request {
  Kind kind = Kind::c2c;
  Precision precision = Precision::f64;
  int sign = -1;          ///< of the exponent; r2c has -1, c2r 1
  bool in_place = false;  ///< one array for both sides
};

struct Transform {
  Request request;
  Dimensions dims;     ///< as in FFTW's guru interface: of r2c and c2r the last is halved on the complex side
  Dimensions batches;  ///< independent transforms

  bool real_input() const { return request.kind == Kind::r2c; }
  bool real_output() const { return request.kind == Kind::c2r; }
  std::size_t real_bytes() const { return request.precision == Precision::f64 ? 8 : 4; }
  std::size_t in_element_bytes() const { return real_bytes() * (real_input() ? 1 : 2); }
  std::size_t out_element_bytes() const { return real_bytes() * (real_output() ? 1 : 2); }

  /// Points of one transform, on its real side, and of all together.
  double length() const;
  double points() const;

  /// 5 N log2 N for each complex transform of N points, half of that for a real one (FFTW's own convention).
  double flops() const;

  /// Elements that dimension `index` of `dims` has on either side.
  std::int64_t in_length(std::size_t index) const;
  std::int64_t out_length(std::size_t index) const;
};

/// One side's arguments of plan_many_dft.
struct Embedding {
  std::span<const std::int64_t> lengths;  ///< inembed; empty for NULL
  std::int64_t stride = 1;
  std::int64_t distance = 0;
};

// Each returns nothing for what a Transform does not hold: no dimension, a length below 1, a stride below 1, too many
// dimensions, addresses beyond 2^46 elements.

/// plan_dft_1d, ..., plan_dft: FFTW's default layout, row-major; a real array in place has padded lines.
std::optional<Transform> basic(const Request& request, std::span<const std::int64_t> lengths);

/// plan_many_dft and its like.
std::optional<Transform> many(const Request& request, std::span<const std::int64_t> lengths, std::int64_t howmany,
                              const Embedding& in, const Embedding& out);

/// plan_guru_dft and its like. Dimensions of one point are left out.
std::optional<Transform> guru(const Request& request, std::span<const Dimension> dims,
                              std::span<const Dimension> batches);

}  // namespace blastoff::fft
