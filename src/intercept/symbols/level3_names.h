// Finding the names of level-3 routines among all names of a string table.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace blastoff::intercept {

/// A string of a string table in which a level-3 routine's name stands, in whatever case.
struct NamedString {
  std::size_t begin;
  std::size_t end;  ///< of its NUL
};

/// The next level-3 routine's name (its type letter) at `from` or behind it; npos if there is none.
std::size_t find_level3_name(std::string_view strings, std::size_t from);

/// All such strings, in order. One pass at some GB/s where there are few.
std::vector<NamedString> level3_names(std::string_view strings);

}  // namespace blastoff::intercept
