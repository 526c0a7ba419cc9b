// The rows of the option table (options.def) as values.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

namespace blastoff::config {

/// The maximum of an integer that has none.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What an option accepts.
struct Accepted {
  enum class Kind : std::uint8_t { choice, integer, memory, memory_or_percent, device, placement, text };
  Kind kind;
  std::string_view values;      ///< choice: the words, separated by |; text: what to write there
  std::int64_t minimum = 0;     ///< integer
  std::int64_t maximum = 0;     ///< integer
  std::string_view bare_value;  ///< what the option without a value means on the command line, "" if it needs one

  constexpr Accepted bare(std::string_view value) const {
    Accepted copy = *this;
    copy.bare_value = value;
    return copy;
  }
};

namespace accepted {
constexpr Accepted choice(std::string_view words) {
  return {Accepted::Kind::choice, words, 0, 0, {}};
}
constexpr Accepted integer(std::int64_t low, std::int64_t high) {
  return {Accepted::Kind::integer, {}, low, high, {}};
}
constexpr Accepted memory() {
  return {Accepted::Kind::memory, {}, 0, 0, {}};
}
constexpr Accepted memory_or_percent() {
  return {Accepted::Kind::memory_or_percent, {}, 0, 0, {}};
}
constexpr Accepted device() {
  return {Accepted::Kind::device, {}, 0, 0, {}};
}
constexpr Accepted placement() {
  return {Accepted::Kind::placement, {}, 0, 0, {}};
}
constexpr Accepted text(std::string_view hint) {
  return {Accepted::Kind::text, hint, 0, 0, {}};
}
}  // namespace accepted

enum class Audience : std::uint8_t { user, test };

/// Who acts on an option.
enum class Scope : std::uint8_t {
  library,      ///< the library in the program
  launcher,     ///< `blastoff run`, before the program starts
  environment,  ///< the `blastoff` command, through the environment only
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

/// All rows of both tables, those of the library first.
std::span<const Option> options();

}  // namespace blastoff::config
