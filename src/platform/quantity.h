// Quantities as text of nearly constant width.
#pragma once

#include <cstdint>
#include <string>

namespace blastoff::platform {

/// "0", "640 B", "1.82 GB": three significant digits, powers of 1000.
std::string format_bytes(std::uint64_t bytes);

/// "12.3 s", "0.842 ms", "310 ns": three significant digits; from ten hours on, in hours.
std::string format_duration(double seconds);

/// "0.000", "0.842", "12.31", "1685": seconds for a column; at most four significant digits, at most three decimals.
std::string format_seconds(double seconds);

/// "57132", "57.1", "0.31": a rate or ratio, about three significant digits, no exponent below a million.
std::string format_number(double value);

}  // namespace blastoff::platform
