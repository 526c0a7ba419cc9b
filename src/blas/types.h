// Terms of BLAS: element types and the option arguments of the standard.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>

namespace blastoff::blas {

/// Element type, named by the routine prefix: single, double, single complex, double complex.
enum class Scalar : std::uint8_t { s, d, c, z };

enum class Side : std::uint8_t { left, right };
enum class Uplo : std::uint8_t { upper, lower };
enum class Transpose : std::uint8_t { none, transpose, conjugate };
enum class Diagonal : std::uint8_t { non_unit, unit };

/// alpha and beta of every routine. Real routines leave the imaginary part 0. The values are exact, because float
/// converts to double and back without loss.
using Coefficient = std::complex<double>;

constexpr bool is_complex(Scalar scalar) {
  return scalar == Scalar::c || scalar == Scalar::z;
}

/// Bytes of one element.
constexpr std::size_t element_size(Scalar scalar) {
  switch (scalar) {
    case Scalar::s: return 4;
    case Scalar::d: return 8;
    case Scalar::c: return 8;
    case Scalar::z: return 16;
  }
  return 0;
}

/// Relative spacing of the underlying real type (2^-23 or 2^-52).
constexpr double machine_epsilon(Scalar scalar) {
  return scalar == Scalar::s || scalar == Scalar::c ? 1.1920928955078125e-07 : 2.220446049250313e-16;
}

}  // namespace blastoff::blas
