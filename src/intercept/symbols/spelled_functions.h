// The functions of an object that are spelled as a BLAS library spells its routines.
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
  std::vector<SpelledFunction> functions;  ///< each name of an address once, in the order of addresses
  std::vector<FunctionSymbol> unproven;    ///< BLAS names with a prefix that nothing shows to be a BLAS library's
};

SpelledFunctions spelled_functions(const ObjectFile& object);

/// Why a function with a plain name is not treated as BLAS; nullptr if it is.
const char* undecorated_rule(const BlasName& name, const std::vector<SpelledFunction>& company);

}  // namespace blastoff::intercept
