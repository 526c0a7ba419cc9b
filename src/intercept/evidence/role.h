// What a routine does with each of its arguments, as far as its code can show.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "blas/types.h"

namespace blastoff::intercept {

/// All roles but the last three are addresses.
enum class Role : std::uint8_t {
  letter,
  letters,   ///< an array of letters
  integer,   ///< an integer that is only read
  real,      ///< alpha: a number of the routine's type that is only read
  array,     ///< an array of the routine's type, or of its real counterpart
  integers,  ///< an array of integers, or an integer that is written
  number,    ///< an integer by value
  value,     ///< a real number by value, in a register of its own
  length,    ///< the length of a letter, which hardly any routine reads
};

/// A routine's parameters, in order. Empty: the parameters are not listed here.
struct Signature {
  std::span<const Role> roles;
  blas::Scalar scalar{};
};

}  // namespace blastoff::intercept
