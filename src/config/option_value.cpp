#include "config/option_value.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace blastoff::config {

std::vector<std::string_view> split_choices(std::string_view words) {
  std::vector<std::string_view> choices;
  each_choice(words, [&](std::size_t, std::string_view choice) {
    choices.push_back(choice);
    return true;
  });
  return choices;
}

std::string describe_accepted(const Accepted& accepted) {
  std::string text;
  describe_accepted(accepted, [&](std::string_view piece) { text += piece; });
  return text;
}

std::string format_memory(const MemorySize& size) {
  if (size.percent > 0) return std::to_string(static_cast<int>(size.percent)) + "%";
  std::uint64_t value = size.bytes;
  std::size_t exponent = 0;
  while (value != 0 && value % 1024 == 0 && exponent < accepted::memory_suffixes.size()) {
    value /= 1024;
    ++exponent;
  }
  std::string text = std::to_string(value);
  if (exponent > 0) text += accepted::memory_suffixes[exponent - 1];
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substituted, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string similar_word(std::string_view word, std::span<const std::string> known) {
  const auto nearest =
      std::ranges::min_element(known, {}, [&](const std::string& one) { return edit_distance(word, one); });
  const bool similar = nearest != known.end() && 3 * edit_distance(word, *nearest) <= nearest->size();
  return similar ? *nearest : "";
}

}  // namespace blastoff::config
