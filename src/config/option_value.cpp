#include "config/option_value.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace blastoff::config {

namespace {

/// All of `text` as a decimal number. std::from_chars: strtol and friends follow the program's locale.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

std::optional<std::uint64_t> parse_digits(std::string_view text) {
  return parse_number<std::uint64_t>(text);
}

constexpr std::string_view memory_suffixes = "KMGT";

/// Power of 1024 that the suffix stands for; 0 where there is none.
int memory_exponent(char suffix) {
  const char upper = suffix >= 'a' && suffix <= 'z' ? static_cast<char>(suffix - 'a' + 'A') : suffix;
  const std::size_t position = memory_suffixes.find(upper);
  return position == std::string_view::npos ? 0 : static_cast<int>(position) + 1;
}

std::string join_choices(std::string_view words) {
  const std::vector<std::string_view> choices = split_choices(words);
  std::string text;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    if (i > 0) text += i + 1 == choices.size() ? " or " : ", ";
    text += choices[i];
  }
  return text;
}

}  // namespace

std::vector<std::string_view> split_choices(std::string_view words) {
  std::vector<std::string_view> choices;
  while (true) {
    const std::size_t bar = words.find('|');
    choices.push_back(words.substr(0, bar));
    if (bar == std::string_view::npos) return choices;
    words.remove_prefix(bar + 1);
  }
}

std::string describe_accepted(const Accepted& accepted) {
  switch (accepted.kind) {
    case Accepted::Kind::choice: return join_choices(accepted.values);
    case Accepted::Kind::integer:
      if (accepted.maximum == unlimited) return "an integer, " + std::to_string(accepted.minimum) + " or more";
      return "an integer from " + std::to_string(accepted.minimum) + " to " + std::to_string(accepted.maximum);
    case Accepted::Kind::memory: return "a size in bytes, or with suffix K, M, G or T";
    case Accepted::Kind::memory_or_percent: return "a size in bytes, or with suffix K, M, G or T, or 1% to 100%";
    case Accepted::Kind::device: return "cuda, cuda:N, simulated or none";
    case Accepted::Kind::placement: return "auto, huge-pages, at-malloc, at-malloc=SIZE or none";
    case Accepted::Kind::text: return std::string(accepted.values);
  }
  return {};
}

std::optional<std::size_t> parse_choice(const Accepted& accepted, std::string_view text) {
  const std::vector<std::string_view> choices = split_choices(accepted.values);
  const auto found = std::find(choices.begin(), choices.end(), text);
  if (found == choices.end()) return std::nullopt;
  return static_cast<std::size_t>(found - choices.begin());
}

std::optional<std::int64_t> parse_integer(const Accepted& accepted, std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  return !value || *value < accepted.minimum || *value > accepted.maximum ? std::nullopt : value;
}

std::optional<MemorySize> parse_memory(const Accepted& accepted, std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char last = text.back();
  const bool percent = last == '%';
  const int exponent = percent ? 0 : memory_exponent(last);
  if (percent || exponent > 0) text.remove_suffix(1);
  const std::optional<std::uint64_t> value = parse_digits(text);
  if (!value || *value == 0) return std::nullopt;
  if (percent) {
    if (accepted.kind != Accepted::Kind::memory_or_percent || *value > 100) return std::nullopt;
    return MemorySize{static_cast<double>(*value), 0};
  }
  if (*value > std::numeric_limits<std::uint64_t>::max() >> (10 * exponent)) return std::nullopt;
  return MemorySize{0, *value << (10 * exponent)};
}

bool parse_device(std::string_view text) {
  if (text == "cuda" || text == "simulated" || text == "none") return true;
  constexpr std::string_view prefix = "cuda:";
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return text.size() <= 4 && parse_digits(text).has_value();
}

std::string format_memory(const MemorySize& size) {
  if (size.percent > 0) return std::to_string(static_cast<int>(size.percent)) + "%";
  std::uint64_t value = size.bytes;
  int exponent = 0;
  while (value != 0 && value % 1024 == 0 && exponent < static_cast<int>(memory_suffixes.size())) {
    value /= 1024;
    ++exponent;
  }
  std::string text = std::to_string(value);
  if (exponent > 0) text += memory_suffixes[static_cast<std::size_t>(exponent) - 1];
  return text;
}

}  // namespace blastoff::config
