// Finds the word that somebody may have meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace blastoff::config {

/// Returns the number of edits that turn one word into the other (Levenshtein).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// Returns the word that differs least, if it differs in at most a third of its characters; else "".
std::string similar_word(std::string_view word, std::span<const std::string> known);

}  // namespace blastoff::config
