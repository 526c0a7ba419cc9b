// Finds the functions of an object whose names are spelled as BLAS libraries spell their routines.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "intercept/symbols/blas_name.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {

struct SpelledFunction {
  FunctionSymbol symbol;
  BlasName name;
  KnownSpelling spelling{};
};

struct SpelledFunctions {
  std::vector<SpelledFunction> functions;  ///< in the order of addresses; a name occurs once at an address
  std::vector<FunctionSymbol> unproven;    ///< BLAS names with a prefix of which nothing shows that it is a BLAS
                                           ///< library's
};

SpelledFunctions spelled_functions(const ObjectFile& object);

/// Returns why a function with a plain name is not treated as BLAS; nullptr if it is.
const char* undecorated_rule(const BlasName& name, const std::vector<SpelledFunction>& company);

}  // namespace blastoff::intercept
