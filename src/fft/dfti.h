// MKL's description of a transform. Each plan of MKL's FFTW interface holds a descriptor of MKL's own interface, DFTI.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "fft/transform.h"

namespace blastoff::fft {

/// MKL's function DftiGetValue: returns 0, or an error. On Linux its integers have 64 bits, whatever the width of
/// BLAS's integers.
using DftiGetValue = long(void* descriptor, int parameter, ...);

/// Everything that distinguishes transforms, except the direction and the arrays.
class DftiDescription {
 public:
  /// Nothing if MKL does not describe the transform completely, or describes another one than `expected`.
  static std::optional<DftiDescription> read(DftiGetValue* ask, void* descriptor, const Transform& expected);

  /// Whether MKL still describes that descriptor in the same way. Takes some tenths of a microsecond.
  bool is_of(void* descriptor) const;

 private:
  /// Values of DFTI_CONFIG_PARAM. Older and newer versions of MKL have different names for strides and distances.
  enum Parameter : std::uint8_t {
    domain = 0,
    lengths = 2,
    precision = 3,
    number_of_transforms = 7,
    placement = 11,
    input_strides = 12,
    output_strides = 13,
    input_distance = 14,
    output_distance = 15,
    forward_distance = 58,
    backward_distance = 59,
    forward_strides = 60,
    backward_strides = 61,
  };
  static constexpr std::array parameters{domain,          lengths,          precision,         number_of_transforms,
                                         placement,       input_strides,    output_strides,    input_distance,
                                         output_distance, forward_distance, backward_distance, forward_strides,
                                         backward_strides};
  static constexpr std::size_t max_dimensions = 7;

  /// One integer, which may have 32 bits only, or one for each dimension, with or without an offset before them.
  using Values = std::array<long, max_dimensions + 1>;
  struct Answer {
    bool given = false;
    Values values{};
  };

  Answer answer(void* descriptor, Parameter parameter) const;
  const Answer& known(Parameter parameter) const;
  int number(Parameter parameter) const { return static_cast<int>(known(parameter).values.front()); }
  bool is_complete() const;
  bool fits(const Transform& transform) const;

  DftiGetValue* ask_ = nullptr;
  std::array<Answer, parameters.size()> answers_;
};

}  // namespace blastoff::fft
