// What a routine does with each of its arguments, as far as code can show it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blas/types.h"

namespace blastoff::intercept {

/// All but the last three are addresses.
enum class Role : std::uint8_t {
  letter,
  integer,   ///< that is read only
  real,      ///< alpha: a number of the routine's type that is read only
  array,     ///< of the routine's type, or its real counterpart
  integers,  ///< an array of them, or one that is written
  number,    ///< an integer by value
  value,     ///< a real number by value, in a register of its own
  length,    ///< of a letter, which hardly any routine looks at
};

/// A routine's parameters, in their order. Empty: they are not known here.
struct Signature {
  std::span<const Role> roles;
  blas::Scalar scalar{};
};

}  // namespace blastoff::intercept
