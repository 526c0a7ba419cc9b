// How a routine is called.
#pragma once

#include <cstdint>

namespace blastoff::abi {

enum class Style : std::uint8_t { fortran, cblas };
enum class IntegerWidth : std::uint8_t { lp64, ilp64 };  ///< 32-bit or 64-bit integers

struct Convention {
  Style style;
  IntegerWidth integers;
  bool operator==(const Convention& other) const = default;
};

}  // namespace blastoff::abi
