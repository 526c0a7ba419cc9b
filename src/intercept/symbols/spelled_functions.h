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

/// What of the standard's libraries an object exports under decorated names.
struct ExportedFamilies {
  bool level3 = false;  ///< in all types
  bool lapack = false;  ///< so many routines that it counts as the whole

  /// Whether the object hides no routine: what it has, it exports.
  bool complete() const { return level3 && lapack; }
};

ExportedFamilies exported_families(const std::vector<SpelledFunction>& all);

/// Returns why a function with a plain name is not treated as BLAS; nullptr if it is.
const char* undecorated_rule(const BlasName& name, const std::vector<SpelledFunction>& company);

}  // namespace blastoff::intercept
