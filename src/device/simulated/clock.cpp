#include "device/simulated/clock.h"

#include <array>
#include <cstddef>

#include <fmt/format.h>

#include "device/simulated/notation.h"

namespace blastoff::device::simulated {
namespace {

/// In the order of rate_names.
constexpr std::array<double Rates::*, rate_names.size()> members{&Rates::link, &Rates::device, &Rates::cpu,
                                                                 &Rates::launch, &Rates::start};

}  // namespace

Result<std::optional<Rates>> parse_rates(const std::string& text) {
  if (text.empty()) return std::nullopt;
  Rates rates;
  if (!read_rates(text, [&](std::size_t position, double value) { rates.*members[position] = value; }))
    return tl::unexpected(Error{ErrorKind::unavailable,
                                fmt::format("simulated rates \"{}\" not understood: NAME=NUMBER,... with names link, "
                                            "device, cpu, launch and start, or default",
                                            text)});
  return rates;
}

}  // namespace blastoff::device::simulated
