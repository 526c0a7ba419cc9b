// What a function's code does with the words that its caller passes, as far as the code shows it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "intercept/patch/relocator.h"

namespace blastoff::intercept::patch {

/// A word in a register for integers or on the stack: an address, a number, or none that the function knows of.
struct WordUse {
  bool read = false;      ///< the word itself
  bool number = false;    ///< as a number: a part of its bits, or in arithmetic that is none of addresses
  bool narrow = false;    ///< its lower 32 bits alone
  bool address = false;   ///< memory at or near it is read or written
  bool indexed = false;   ///< memory near it, at an offset or at a computed place
  bool written = false;   ///< something is stored there
  bool singles = false;   ///< floating-point numbers of four bytes lie there
  bool doubles = false;   ///< of eight
  bool reals = false;     ///< numbers that floating-point registers take, of whatever size
  unsigned integers = 0;  ///< the sum of the sizes, in bytes, of the integers that are read at the very address
};

struct ArgumentUse {
  static constexpr std::size_t most_words = 40;
  std::array<WordUse, most_words> words{};
  std::size_t handed_on = 0;  ///< so many words, from the first one on, are passed to an unknown function as they came
  unsigned reals = 0;         ///< bit i: the i-th register for floating-point arguments is read as the caller left it
  bool variadic = false;      ///< takes any number of arguments
  bool complete = false;      ///< all code that may run has been read, but for other objects'
};

/// How a function's own code uses its arguments, and how that code and the functions that it calls use them together.
/// The latter is known less well: one call of each function is followed.
struct ArgumentUses {
  ArgumentUse own;
  ArgumentUse all;
};

/// A piece of an object's code.
struct CodeRange {
  std::span<const std::byte> bytes;
  std::uint64_t address = 0;
};

/// Follows the code of `function`, a part of `code`, and of the functions of `code` that it calls, until what has been
/// seen is `enough`. nullopt: that is not known for the architecture. One thread at a time.
std::optional<ArgumentUses> argument_use(Architecture architecture, const CodeRange& code, const CodeRange& function,
                                         const std::function<bool(const ArgumentUse&)>& enough);

}  // namespace blastoff::intercept::patch
