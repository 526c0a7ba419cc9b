// The rows of the option tables (options.def) as values.
#pragma once

#include <cstdint>
#include <span>

#include "config/accepted.h"

namespace blastoff::config {

enum class Audience : std::uint8_t { user, test };

/// The part of Blastoff that acts on an option.
enum class Scope : std::uint8_t {
  library,      ///< the library in the program
  launcher,     ///< `blastoff run`, before the program starts
  environment,  ///< the `blastoff` command, only by the environment variable
};

struct Option {
  const char* name;         ///< "min-size"
  const char* environment;  ///< "BLASTOFF_MIN_SIZE"
  Accepted accepted;
  const char* initial;  ///< the default, as text
  Audience audience;
  Scope scope;
  const char* help;
};

/// Whether the value is a path that the launcher makes absolute, since the program may change its directory.
bool is_path(const Option& option);

/// All rows of both tables, beginning with those of the library.
std::span<const Option> options();

}  // namespace blastoff::config
