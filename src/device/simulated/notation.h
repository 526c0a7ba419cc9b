// How rates and faults of the simulated device are written: for the device, and for the launcher, which checks what it
// passes on.
#pragma once

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace blastoff::device::simulated {

/// The names of rates: of amounts per second, then of seconds, which may be 0.
inline constexpr std::array<std::string_view, 5> rate_names{"link", "device", "cpu", "launch", "start"};
inline constexpr std::size_t first_of_seconds = 3;
inline constexpr std::string_view default_rates = "default";

/// The names of what can be made to fail, in the order of Operation (faults.h).
inline constexpr std::array<std::string_view, 13> operation_names{
    "allocate", "reserve", "back",    "staging", "queue", "event",      "to-device",
    "to-host",  "between", "execute", "record",  "wait",  "synchronize"};

namespace notation {

/// Returns the text before the first separator of `rest`, and cuts both off.
inline std::string_view next_part(std::string_view& rest, char separator) {
  const auto end = rest.find(separator);
  const auto part = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return part;
}

/// The whole text as a number.
template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stopped == end ? std::optional(value) : std::nullopt;
}

/// The position of a name; the number of names if it is none of them.
template <std::size_t N>
std::size_t position_of(std::string_view name, const std::array<std::string_view, N>& names) {
  std::size_t position = 0;
  while (position < N && names[position] != name) ++position;
  return position;
}

}  // namespace notation

/// Reads "NAME=NUMBER,..." or "default", and calls take(position of the name, number) for each rate. False if the text
/// is not understood.
template <class Take>
bool read_rates(std::string_view text, Take&& take) {
  if (text == default_rates) return true;
  while (!text.empty()) {
    std::string_view part = notation::next_part(text, ',');
    const std::size_t position = notation::position_of(notation::next_part(part, '='), rate_names);
    const auto value = notation::number_of<double>(part);
    if (position == rate_names.size() || !value) return false;
    const bool fits = *value > 0 ? *value < 1e18 : position >= first_of_seconds && *value == 0;
    if (!fits) return false;
    take(position, *value);
  }
  return true;
}

struct FaultPlan {
  std::size_t operation = 0;  ///< position of its name
  std::uint64_t number = 0;   ///< which operation of that name fails, from 1
  std::string_view how;       ///< "" is lost
};

/// Reads "OPERATION:N", or that with ":lost", ":memory", ":unsupported" or, for execute, ":wrong".
inline std::optional<FaultPlan> read_fault(std::string_view text) {
  const auto name = notation::next_part(text, ':');
  const auto number = notation::number_of<std::uint64_t>(notation::next_part(text, ':'));
  const std::size_t operation = notation::position_of(name, operation_names);
  const bool wrong = text == "wrong" && name == "execute";
  const bool is_kind = text.empty() || text == "lost" || text == "memory" || text == "unsupported" || wrong;
  if (operation == operation_names.size() || !number || *number == 0 || !is_kind) return std::nullopt;
  return FaultPlan{operation, *number, text};
}

}  // namespace blastoff::device::simulated
