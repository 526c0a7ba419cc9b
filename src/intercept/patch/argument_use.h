// What a function's code does with the words that its caller passes, as far as the code can show it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// The use of one word that the caller passes in a register for integers or on the stack: an address, a number, or a
/// word that is no argument of the function.
struct WordUse {
  bool read = false;      ///< the word itself is read
  bool number = false;    ///< it is used as a number: only a part of its bits, or in arithmetic that addresses do not
                          ///< occur in
  bool narrow = false;    ///< only its lower 32 bits are read
  bool address = false;   ///< memory at or near it is read or written
  bool indexed = false;   ///< memory is used that is not exactly at the word: at an offset or a computed index
  bool written = false;   ///< something is stored there
  bool singles = false;   ///< floating-point numbers of four bytes lie there
  bool doubles = false;   ///< floating-point numbers of eight bytes lie there
  bool reals = false;     ///< floating-point numbers of any size lie there
  unsigned integers = 0;  ///< sum of the sizes, in bytes, of the integers that are read exactly at the address
};

struct ArgumentUse {
  static constexpr std::size_t max_words = 40;
  std::array<WordUse, max_words> words{};
  std::size_t handed_on = 0;  ///< number of words, from the first one on, that are passed unchanged to an unknown
                              ///< function
  unsigned reals = 0;         ///< bit i: the i-th register for floating-point arguments is read with the caller's value
  bool variadic = false;      ///< takes any number of arguments
  bool complete = false;      ///< all of the function's own code was read
};

/// `own`: how the function's own code uses its arguments. `all`: how that code and the functions that it calls use them
/// together. `all` is less certain, because only one call of each function is followed.
struct ArgumentUses {
  ArgumentUse own;
  ArgumentUse all;
};

/// Follows the code of `function`, a part of `code`, and of the functions in `code` that it calls, until `enough`
/// accepts what has been seen. nullopt: not implemented for the architecture. To be called by one thread at a time.
std::optional<ArgumentUses> argument_use(Architecture architecture, const CodeRange& code, const CodeRange& function,
                                         const std::function<bool(const ArgumentUse&)>& enough);

}  // namespace blastoff::intercept::patch
