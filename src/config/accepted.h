// What an option accepts, as data, and functions that parse a value accordingly. The library, the allocator library
// and, as JSON, the command all use this description. Nothing here allocates memory.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace blastoff::config {

/// The maximum of an integer without a limit.
inline constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

/// What an option accepts. A choice is a word, or a word with a placeholder for a value: "cuda:N" (an integer within
/// the limits), "cuda:LIST" (several different integers, separated by commas), "at-malloc=SIZE", "sample=PERCENT",
/// "calls=FILE" (any path).
struct Accepted {
  enum class Kind : std::uint8_t { choice, integer, memory, memory_or_percent, duration, text };
  Kind kind;
  std::string_view values;      ///< for a choice, the choices, separated by |; for text, what to write there
  std::int64_t minimum = 0;     ///< smallest integer or N; smallest duration in milliseconds
  std::int64_t maximum = 0;     ///< largest integer or N; largest duration in milliseconds
  std::string_view bare_value;  ///< the value that the option has without a value on the command line; "" if it needs
                                ///< one

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

/// A value that was accepted. The fields that the option does not use are 0.
struct Value {
  std::size_t choice = 0;  ///< position among the choices
  std::int64_t integer = 0;
  std::uint64_t bytes = 0;
  double percent = 0;
  std::string_view text{};  ///< the value for FILE
};

/// Calls body(position, choice) for each choice, until it returns false.
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

/// Parses all of `text` as a decimal number. Uses std::from_chars, because strtol and its like follow the program's
/// locale.
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
  const bool sign_fits = accepted.minimum < 0 || !text.starts_with('-');  // false for -0
  if (!value || !sign_fits || *value < accepted.minimum || *value > accepted.maximum) return std::nullopt;
  return Value{.integer = *value};
}

/// Returns the text before the first comma of `rest`, and removes it with the comma. `more`: whether there was a comma.
inline std::string_view cut_at_comma(std::string_view& rest, bool& more) {
  const std::size_t comma = rest.find(',');
  more = comma != std::string_view::npos;
  std::string_view part = rest;
  part.remove_suffix(more ? rest.size() - comma : 0);
  rest.remove_prefix(more ? comma + 1 : rest.size());
  return part;
}

/// Parses "0,2,3": different integers.
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

/// The power of 1024 for a suffix; 0 if it is none.
inline int memory_exponent(char suffix) {
  const char upper = suffix >= 'a' && suffix <= 'z' ? static_cast<char>(suffix - 'a' + 'A') : suffix;
  const std::size_t position = memory_suffixes.find(upper);
  return position == std::string_view::npos ? 0 : static_cast<int>(position) + 1;
}

/// Parses "4G", "512M", "65536": above 0 and below 2^64.
inline std::optional<Value> parse_size(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const int exponent = memory_exponent(text.back());
  if (exponent > 0) text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value == 0 || *value > std::numeric_limits<std::uint64_t>::max() >> (10 * exponent))
    return std::nullopt;
  return Value{.bytes = *value << (10 * exponent)};
}

/// Parses "10ms", "2s": a whole number. Returns milliseconds.
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

/// Parses "80%": a whole number from 1 to 100.
inline std::optional<Value> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const auto value = parse_number<std::uint64_t>(text);
  if (!value || *value < 1 || *value > 100) return std::nullopt;
  return Value{.percent = static_cast<double>(*value)};
}

/// Parses "0.5%", "1%": above 0, at most 100, with up to four decimals.
inline std::optional<Value> parse_decimal_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  text.remove_suffix(1);
  const std::size_t point = text.find('.');
  const auto whole = parse_number<std::uint64_t>(text.substr(0, point));
  if (!whole || *whole > 100) return std::nullopt;
  auto percent = static_cast<double>(*whole);
  if (point != std::string_view::npos) {
    std::string_view decimals = text;
    decimals.remove_prefix(point + 1);  // substr() may throw, which is not allowed in the allocator library
    const auto fraction = parse_number<std::uint64_t>(decimals);
    if (!fraction || decimals.size() > 4) return std::nullopt;
    double value = static_cast<double>(*fraction);
    for (std::size_t i = 0; i < decimals.size(); ++i) value /= 10;
    percent += value;
  }
  if (percent <= 0 || percent > 100) return std::nullopt;
  return Value{.percent = percent};
}

/// Parses a value by one choice: "cuda", "cuda:N".
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

/// Parses the value of an option; nullopt: the option does not accept it. An empty text is a value like others.
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

/// Describes in words, piece by piece, what is accepted: "first-use or copy", "an integer from 0 to 256".
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
