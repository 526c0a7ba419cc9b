// Why the launcher does not start the program.
#pragma once

#include <string>
#include <utility>

#include <tl/expected.hpp>

namespace blastoff::launcher {

/// Exit statuses: a wrong option, setting or file; a program that cannot be executed; no such program. The last two are
/// those of a shell. python/blastoff/errors.py names the same.
inline constexpr int wrong_usage = 2;
inline constexpr int cannot_execute = 126;
inline constexpr int not_found = 127;

struct Failure {
  std::string message;  ///< one line for the user
  int status = wrong_usage;
};

template <class Value>
using Expected = tl::expected<Value, Failure>;

inline tl::unexpected<Failure> fail(std::string message, int status = wrong_usage) {
  return tl::unexpected(Failure{std::move(message), status});
}

}  // namespace blastoff::launcher
