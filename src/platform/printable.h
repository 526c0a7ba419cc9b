// Makes names that others have chosen safe for a terminal.
#pragma once

#include <cstddef>
#include <string>

namespace blastoff::platform {

/// Replaces everything that a terminal would act on by question marks, in place: control characters, characters that
/// change the direction of writing, and bytes that are no UTF-8. Returns the number of bytes that are left.
/// python/blastoff/printable.py does the same.
std::size_t make_printable(char* text, std::size_t bytes);

/// The same for a string.
inline std::string printable(std::string text) {
  text.resize(make_printable(text.data(), text.size()));
  return text;
}

}  // namespace blastoff::platform
