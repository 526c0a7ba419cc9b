// What an option accepts, as data, and reading a value by it: the one description for the library, the allocator
// library and, as JSON, the command. Nothing here allocates.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace blastoff::config {

/// The maximum of an integer that has none.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What an option accepts. A choice is a word, or what comes before a value and the value's placeholder: "cuda:N" (an
/// integer within the limits), "cuda:LIST" (several, different ones, separated by commas), "at-malloc=SIZE",
/// "sample=PERCENT", "calls=FILE" (any path).
struct Accepted {
  enum class Kind : std::uint8_t { choice, integer, memory, memory_or_percent, duration, text };
  Kind kind;
  std::string_view values;      ///< choice: the choices, separated by |; text: what to write there
  std::int64_t minimum = 0;     ///< integer and N; duration: milliseconds
  std::int64_t maximum = 0;     ///< likewise
  std::string_view bare_value;  ///< what the option without a value means on the command line, "" if it needs one

  constexpr Accepted bare(std::string_view value) const {
    Accepted copy = *this;
    copy.bare_value = value;
    return copy;
  }
};

namespace accepted {
constexpr Accepted choice(std::string_view words, std::int64_t low = 0, std::int64_t high = 0) {
  return {Accepted::Kind::choice, words, low, high, {}};
}
constexpr Accepted integer(std::int64_t low, std::int64_t high) {
  return {Accepted::Kind::integer, {}, low, high, {}};
}
constexpr Accepted memory() {
  return {Accepted::Kind::memory, {}, 0, 0, {}};
}
constexpr Accepted memory_or_percent() {
  return {Accepted::Kind::memory_or_percent, {}, 0, 0, {}};
}
constexpr Accepted duration(std::int64_t low, std::int64_t high) {
  return {Accepted::Kind::duration, {}, low, high, {}};
}
constexpr Accepted text(std::string_view hint) {
  return {Accepted::Kind::text, hint, 0, 0, {}};
}
}  // namespace accepted

/// A value that is accepted. What the option does not take is 0.
struct Value {
  std::size_t choice = 0;  ///< its position
  std::int64_t integer = 0;
  std::uint64_t bytes = 0;
  double percent = 0;
  std::string_view text{};  ///< FILE
};

/// Calls body(position, choice) for each until it returns false.
template <class Body>
constexpr void each_choice(std::string_view words, Body&& body) {
  for (std::size_t position = 0;; ++position) {
    const std::size_t bar = words.find('|');
    if (!body(position, words.substr(0, bar)) || bar == std::string_view::npos) return;
    words.remove_prefix(bar + 1);
  }
}

namespace accepted {

inline constexpr std::string_view integer_placeholder = "N";
inline constexpr std::string_view list_placeholder = "LIST";
inline constexpr std::string_view size_placeholder = "SIZE";
inline constexpr std::string_view percent_placeholder = "PERCENT";
inline constexpr std::string_view file_placeholder = "FILE";
inline constexpr std::string_view memory_suffixes = "KMGT";

/// All of `text` as a decimal number. std::from_chars: strtol and friends follow the program's locale.
template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

inline std::optional<Value> parse_integer(const Accepted& accepted, std::string_view text) {
  const auto value = parse_number<std::int64_t>(text);
  const bool sign_fits = accepted.minimum < 0 || !text.starts_with('-');  // -0
  if (!value || !sign_fits || *value < accepted.minimum || *value > accepted.maximum) return std::nullopt;
  return Value{.integer = *value};
}

/// Cuts the text before the first comma off `rest`, with the comma; `more`: whether there was one.
inline std::string_view cut_at_comma(std::string_view& rest, bool& more) {
  const std::size_t comma = rest.find(',');
  more = comma != std::string_view::npos;
  std::string_view part = rest;
  part.remove_suffix(more ? rest.size() - comma : 0);
  rest.remove_prefix(more ? comma + 1 : rest.size());
  return part;
}

/// "0,2,3": different integers.
inline std::optional<Value> parse_list(const Accepted& accepted, std::string_view text) {
  for (bool more = true; more;) {
    const auto value = parse_integer(accepted, cut_at_comma(text, more));
    if (!value) return std::nullopt;
    std::string_view later = text;
    for (bool any = more; any;) {
      const auto other = parse_integer(accepted, cut_at_comma(later, any));
      if (other && other->integer == value->integer) return std::nullopt;
    }
  }
  return Value{};
}

/// Power of 1024 that the suffix stands for; 0 where there is none.
inline int memory_exponent(char suffix) {
  const char upper = suffix >= 'a' && suffix <= 'z' ? static_cast<char>(suffix - 'a' + 'A') : suffix;
  const std::size_t position = memory_suffixes.find(upper);
  return position == std::string_view::npos ? 0 : static_cast<int>(position) + 1;
}

/// "4G", "512M", "65536": above 0 and below 2^64.
inline std::optional<Value> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const int exponent = memory_exponent(text.back());
  if (exponent > 0) text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value == 0 || *value > std::numeric_limits<std::uint64_t>::max() >> (10 * exponent))
    return std::nullopt;
  return Value{.bytes = *value << (10 * exponent)};
}

/// "10ms", "2s": a whole number; as milliseconds.
inline std::optional<Value> parse_duration(const Accepted& accepted, std::string_view text) {
  if (!text.ends_with('s')) return std::nullopt;
  text.remove_suffix(1);
  const bool milli = text.ends_with('m');
  if (milli) text.remove_suffix(1);
  const auto value = parse_number<std::uint32_t>(text);
  if (!value) return std::nullopt;
  const std::int64_t milliseconds = std::int64_t{*value} * (milli ? 1 : 1000);
  if (milliseconds < accepted.minimum || milliseconds > accepted.maximum) return std::nullopt;
  return Value{.integer = milliseconds};
}

/// "80%": a whole number from 1 to 100.
inline std::optional<Value> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value < 1 || *value > 100) return std::nullopt;
  return Value{.percent = static_cast<double>(*value)};
}

/// "0.5%", "1%": above 0, at most 100, with up to four decimals.
inline std::optional<Value> parse_decimal_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  const auto whole = parse_number<std::uint64_t>(text.substr(0, point));
  if (!whole || *whole > 100) return std::nullopt;
  auto percent = static_cast<double>(*whole);
  if (point != std::string_view::npos) {
    std::string_view decimals = text;
    decimals.remove_prefix(point + 1);  // substr() may throw, which malloc's library must not
    const auto fraction = parse_number<std::uint64_t>(decimals);
    if (!fraction || decimals.size() > 4) return std::nullopt;
    double value = static_cast<double>(*fraction);
    for (std::size_t i = 0; i < decimals.size(); ++i) value /= 10;
    percent += value;
  }
  if (percent <= 0 || percent > 100) return std::nullopt;
  return Value{.percent = percent};
}

/// By one choice: "cuda", "cuda:N".
inline std::optional<Value> parse_by(const Accepted& accepted, std::string_view choice, std::string_view text) {
  for (const std::string_view placeholder :
       {integer_placeholder, list_placeholder, size_placeholder, percent_placeholder, file_placeholder}) {
    if (!choice.ends_with(placeholder)) continue;
    const std::string_view prefix = choice.substr(0, choice.size() - placeholder.size());
    if (!text.starts_with(prefix)) return std::nullopt;
    text.remove_prefix(prefix.size());
    if (placeholder == list_placeholder) return parse_list(accepted, text);
    if (placeholder == percent_placeholder) return parse_decimal_percent(text);
    if (placeholder == file_placeholder) return text.empty() ? std::nullopt : std::optional(Value{.text = text});
    return placeholder == size_placeholder ? parse_size(text) : parse_integer(accepted, text);
  }
  return text == choice ? std::optional(Value{}) : std::nullopt;
}

inline std::optional<Value> parse_choice(const Accepted& accepted, std::string_view text) {
  std::optional<Value> found;
  each_choice(accepted.values, [&](std::size_t position, std::string_view choice) {
    found = parse_by(accepted, choice, text);
    if (found) found->choice = position;
    return !found;
  });
  return found;
}

}  // namespace accepted

/// nullopt: the option does not take this value. An empty one is a value like others.
inline std::optional<Value> parse_value(const Accepted& accepted, std::string_view text) {
  switch (accepted.kind) {
    case Accepted::Kind::choice: return accepted::parse_choice(accepted, text);
    case Accepted::Kind::integer: return accepted::parse_integer(accepted, text);
    case Accepted::Kind::memory: return accepted::parse_size(text);
    case Accepted::Kind::memory_or_percent:
      return text.ends_with('%') ? accepted::parse_percent(text) : accepted::parse_size(text);
    case Accepted::Kind::duration: return accepted::parse_duration(accepted, text);
    case Accepted::Kind::text: return Value{};
  }
  return std::nullopt;
}

/// What is accepted, in words, piece by piece: "first-use or copy", "an integer from 0 to 256".
template <class Append>
void describe_accepted(const Accepted& accepted, Append&& append) {
  const auto append_number = [&](std::int64_t number) {
    char digits[24];
    append(std::string_view(digits, std::to_chars(digits, digits + sizeof digits, number).ptr));
  };
  switch (accepted.kind) {
    case Accepted::Kind::choice: {
      const std::size_t last = accepted.values.rfind('|');
      each_choice(accepted.values, [&](std::size_t position, std::string_view choice) {
        const bool is_last = last != std::string_view::npos && choice.data() > accepted.values.data() + last;
        if (position > 0) append(std::string_view(is_last ? " or " : ", "));
        append(choice);
        return true;
      });
      return;
    }
    case Accepted::Kind::integer: {
      const bool bounded = accepted.maximum != unlimited;
      append(std::string_view(bounded ? "an integer from " : "an integer, "));
      append_number(accepted.minimum);
      append(std::string_view(bounded ? " to " : " or more"));
      if (bounded) append_number(accepted.maximum);
      return;
    }
    case Accepted::Kind::memory: return append(std::string_view("a size in bytes, or with suffix K, M, G or T"));
    case Accepted::Kind::memory_or_percent:
      return append(std::string_view("a size in bytes, or with suffix K, M, G or T, or 1% to 100%"));
    case Accepted::Kind::duration: {
      append(std::string_view("a time from "));
      append_number(accepted.minimum);
      append(std::string_view("ms to "));
      append_number(accepted.maximum / 1000);
      return append(std::string_view("s, with the unit ms or s"));
    }
    case Accepted::Kind::text: return append(accepted.values);
  }
}

}  // namespace blastoff::config
