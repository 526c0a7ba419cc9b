// Finding the names of the front ends' routines among all names of a string table.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace blastoff::intercept {

/// The next routine's name at `from` or behind it, in whatever case; npos if there is none.
std::size_t find_routine_name(std::string_view strings, std::size_t from);

/// The longest of the names that `strings` starts with (dgemmtr, not dgemm), by its number in routine_names; all
/// letters are small or all are `capitals`.
std::optional<std::size_t> longest_routine_name(std::string_view strings, bool capitals);

/// As std::string_view::find, which stops at each first letter: this skips most of a long table.
std::size_t find_text(std::string_view strings, std::string_view text, std::size_t from);

/// A string of a string table.
struct TableString {
  std::size_t begin;
  std::size_t end;  ///< of its NUL
};

/// The next string, all of it behind `from`, that has such a name in it; C++ names are passed over. One pass at some
/// GB/s.
std::optional<TableString> next_routine_string(std::string_view strings, std::size_t from);

}  // namespace blastoff::intercept
