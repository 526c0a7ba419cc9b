#include "config/option_value.h"

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

}  // namespace blastoff::config
