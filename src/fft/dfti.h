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

namespace dfti_codes {

/// Values of DFTI_CONFIG_PARAM. Older and newer versions of MKL have different names for strides and distances.
enum Parameter : std::uint8_t {
  domain = 0,
  dimension = 1,
  lengths = 2,
  precision = 3,
  forward_scale = 4,
  backward_scale = 5,
  number_of_transforms = 7,
  complex_storage = 8,
  conjugate_even_storage = 10,
  placement = 11,
  input_strides = 12,
  output_strides = 13,
  input_distance = 14,
  output_distance = 15,
  ordering = 18,
  transposition = 19,
  commit_status = 22,
  forward_distance = 58,
  backward_distance = 59,
  forward_strides = 60,
  backward_strides = 61,
};

/// Values of DFTI_CONFIG_VALUE.
enum Value : std::uint8_t {
  committed = 30,
  complex_domain = 32,
  real_domain = 33,
  single_precision = 35,
  double_precision = 36,
  complex_numbers = 39,  ///< DFTI_COMPLEX_COMPLEX: real and imaginary parts beside each other
  in_place = 43,
  not_in_place = 44,
  ordered = 48,
  not_transposed = 53,
};

inline constexpr std::size_t max_dimensions = 7;

/// One integer, which may have 32 bits only, or one for each dimension, with or without an offset before them.
using Values = std::array<long, max_dimensions + 1>;

}  // namespace dfti_codes

/// Everything that distinguishes transforms, except the direction and the arrays.
class DftiDescription {
 public:
  /// Nothing if MKL does not describe the transform completely, or describes another one than `expected`.
  static std::optional<DftiDescription> read(DftiGetValue* ask, void* descriptor, const Transform& expected);

  /// Whether MKL still describes that descriptor in the same way. Takes some tenths of a microsecond.
  bool is_of(void* descriptor) const;

 private:
  static constexpr std::array parameters{dfti_codes::domain,
                                         dfti_codes::lengths,
                                         dfti_codes::precision,
                                         dfti_codes::number_of_transforms,
                                         dfti_codes::placement,
                                         dfti_codes::input_strides,
                                         dfti_codes::output_strides,
                                         dfti_codes::input_distance,
                                         dfti_codes::output_distance,
                                         dfti_codes::forward_distance,
                                         dfti_codes::backward_distance,
                                         dfti_codes::forward_strides,
                                         dfti_codes::backward_strides};

  struct Answer {
    bool given = false;
    dfti_codes::Values values{};
  };

  Answer answer(void* descriptor, dfti_codes::Parameter parameter) const;
  const Answer& known(dfti_codes::Parameter parameter) const;
  int number(dfti_codes::Parameter parameter) const { return static_cast<int>(known(parameter).values.front()); }
  bool is_complete() const;
  bool fits(const Transform& transform) const;

  DftiGetValue* ask_ = nullptr;
  std::array<Answer, parameters.size()> answers_;
};

}  // namespace blastoff::fft
