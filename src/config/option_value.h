// Text of one option's value: a description of what is accepted, memory sizes as text, and the word that somebody may
// have meant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/accepted.h"
#include "config/settings.h"

namespace blastoff::config {

/// Returns the choices of an option.
std::vector<std::string_view> split_choices(std::string_view words);

/// Describes in words what is accepted: "first-use or copy", "an integer from 0 to 256".
std::string describe_accepted(const Accepted& accepted);

/// Returns the shortest text that parses as `size`.
std::string format_memory(const MemorySize& size);

/// Returns the number of edits that turn one word into the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the word that differs least, if it differs in at most a third of its characters; else "".
std::string similar_word(std::string_view word, std::span<const std::string> known);

}  // namespace blastoff::config
