// Finds the names of the front ends' routines among all names of a string table.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace blastoff::intercept {

/// Returns the position of the next routine's name at `from` or behind it, in small letters or capitals; npos if there
/// is none.
std::size_t find_routine_name(std::string_view strings, std::size_t from);

/// Returns the longest routine name with which `strings` begins (dgemmtr, not dgemm), by its number in routine_names.
/// All letters of the name must be small or, if `capitals`, capitals.
std::optional<std::size_t> longest_routine_name(std::string_view strings, bool capitals);

/// Like std::string_view::find, but faster in a long table: that function stops at each occurrence of the first letter.
std::size_t find_text(std::string_view strings, std::string_view text, std::size_t from);

/// A string of a string table.
struct TableString {
  std::size_t begin;
  std::size_t end;  ///< position of its NUL
};

/// Returns the next string, entirely behind `from`, that contains a routine's name. Skips C++ names. Reads the table at
/// some GB/s.
std::optional<TableString> next_routine_string(std::string_view strings, std::size_t from);

}  // namespace blastoff::intercept
