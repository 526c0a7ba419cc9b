// How a routine is called: the exported name and its calling convention.
#pragma once

#include <cstdint>

#include "blas/routine.h"

namespace blastoff::abi {

enum class Style : std::uint8_t { fortran, cblas };
enum class IntegerWidth : std::uint8_t { lp64, ilp64 };  ///< 32-bit or 64-bit integers

struct Convention {
  Style style;
  IntegerWidth integers;
};

/// One exported name.
struct EntryPoint {
  const char* symbol;  ///< "scipy_cblas_dgemm64_"
  const char* prefix;  ///< "scipy_" or "": siblings of the same library are spelled prefix + name + suffix
  const char* suffix;  ///< "64_"
  blas::Routine routine;
  Convention convention;
  bool undecorated;  ///< plain "dgemm": might be someone's own function, see intercept/original.h
};

}  // namespace blastoff::abi
