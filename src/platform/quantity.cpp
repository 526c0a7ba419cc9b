#include "platform/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace blastoff::platform {

namespace {

/// The number of decimals that gives three significant digits for 1 <= value < 1000, after rounding.
int decimals(double value) {
  if (value < 9.995) return 2;
  return value < 99.95 ? 1 : 0;
}

}  // namespace

std::string format_bytes(std::uint64_t bytes) {
  if (bytes == 0) return "0";
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array units{"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  while (value >= 999.5 && unit + 1 < units.size()) {
    value /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, decimals(value), units[unit]);
}

std::string format_duration(double seconds) {
  constexpr double hour = 3600;
  if (seconds >= 10 * hour) return fmt::format("{:.{}f} h", seconds / hour, decimals(seconds / hour));
  constexpr std::array units{"s", "ms", "us", "ns"};
  std::size_t unit = 0;
  while (seconds > 0 && seconds < 0.9995 && unit + 1 < units.size()) {
    seconds *= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", seconds, decimals(seconds), units[unit]);
}

std::string format_seconds(double seconds) {
  if (seconds < 9.9995) return fmt::format("{:.3f}", seconds);
  if (seconds < 99.995) return fmt::format("{:.2f}", seconds);
  return fmt::format("{:.{}f}", seconds, seconds < 999.95 ? 1 : 0);
}

std::string format_number(double value) {
  if (value >= 1e6) return fmt::format("{:.3g}", value);
  return fmt::format("{:.{}f}", value, decimals(value));
}

}  // namespace blastoff::platform
