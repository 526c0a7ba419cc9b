// The parts of a routine's name.
#pragma once

#include <optional>
#include <string_view>

#include "intercept/routine_table.h"

namespace blastoff::intercept {

/// prefix + routine + suffix. The routine is in small letters or in capitals throughout.
struct BlasName {
  std::string_view prefix;
  Routine routine;
  std::string_view suffix;
  bool capitals = false;
};

/// Returns the last routine of any front end in `name` that is not part of another routine's name; nullopt if there is
/// none. Also nullopt for the compiler's clones of a function ("dgemm_.constprop.0"), which have a calling convention
/// of their own.
std::optional<BlasName> parse_blas_name(std::string_view name);

/// The calling convention of names with a certain prefix and suffix, if it is the same in any object.
struct KnownSpelling {
  abi::Style style;
  bool wide;         ///< 64-bit integers; otherwise the library decides
  bool undecorated;  ///< may be a program's own function
};

std::optional<KnownSpelling> known_spelling(const BlasName& name);

}  // namespace blastoff::intercept
