#include "device/simulated/clock.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

namespace blastoff::device::simulated {
namespace {

struct Name {
  std::string_view text;
  double Rates::*member;
  bool may_be_zero;
};
constexpr Name names[] = {{"link", &Rates::link, false},
                          {"device", &Rates::device, false},
                          {"cpu", &Rates::cpu, false},
                          {"launch", &Rates::launch, true},
                          {"start", &Rates::start, true}};

bool read(std::string_view part, Rates& rates) {
  const std::size_t sign = part.find('=');
  if (sign == std::string_view::npos) return false;
  const std::string_view number = part.substr(sign + 1);
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc{} || end != number.data() + number.size()) return false;
  for (const Name& name : names) {
    if (name.text != part.substr(0, sign)) continue;
    rates.*name.member = value;
    return value > 0 ? value < 1e18 : name.may_be_zero && value == 0;
  }
  return false;
}

}  // namespace

Result<std::optional<Rates>> parse_rates(const std::string& text) {
  if (text.empty()) return std::nullopt;
  Rates rates;
  std::string_view rest = text == "default" ? std::string_view() : std::string_view(text);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    if (!read(rest.substr(0, comma), rates))
      return tl::unexpected(Error{ErrorKind::unavailable,
                                  fmt::format("simulated rates \"{}\" not understood: NAME=NUMBER,... with names link, "
                                              "device, cpu, launch and start, or default",
                                              text)});
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return rates;
}

}  // namespace blastoff::device::simulated
