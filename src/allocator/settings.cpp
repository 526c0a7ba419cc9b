#include "allocator/settings.h"

#include <string.h>

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "device/kinds.h"
#include "platform/mpi_ranks.h"

namespace blastoff::allocator {

namespace {

using Get = const char* (*)(const char*);

constexpr std::size_t default_bind_from = std::size_t{64} << 20;

/// An unset and an empty variable are the same.
std::string_view value_of(Get get, const char* variable) {
  const char* const text = get(variable);
  return text == nullptr ? std::string_view{} : text;
}

std::optional<unsigned> parse_number(std::string_view text) {
  unsigned value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || rest != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Power of two that the suffix stands for; 0 where there is none.
unsigned exponent_of(char suffix) {
  constexpr std::string_view suffixes = "kKmMgGtT";
  const std::size_t position = suffixes.find(suffix);
  return position == std::string_view::npos ? 0 : 10 * (static_cast<unsigned>(position) / 2 + 1);
}

std::size_t parse_size(std::string_view text) {
  if (text.empty()) return 0;
  const unsigned exponent = exponent_of(text.back());
  if (exponent > 0) text.remove_suffix(1);
  std::size_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (rest != text.data() + text.size() || error == std::errc::invalid_argument) return 0;
  if (error == std::errc::result_out_of_range || value > never >> exponent) return never;
  return value << exponent;
}

void refuse(Settings& settings, Get get, const char* variable, const char* accepted) {
  settings.bad_variable = variable;
  settings.bad_value = get(variable);
  settings.accepted = accepted;
}

void read_place(Settings& settings, Get get) {
  constexpr const char* variable = "BLASTOFF_PLACE";
  constexpr std::string_view with_size = "at-malloc=";
  const std::string_view place = value_of(get, variable);
  settings.huge_pages = place != "none";
  if (place.empty() || place == "none" || place == "huge-pages") return;
  settings.only_where_it_pays = place == "auto";
  if (place == "auto" || place == "at-malloc") {
    settings.bind_from = default_bind_from;
    return;
  }
  const std::size_t size = place.starts_with(with_size) ? parse_size(place.substr(with_size.size())) : 0;
  if (size == 0) return refuse(settings, get, variable, "auto, huge-pages, at-malloc, at-malloc=SIZE or none");
  settings.bind_from = size;
}

void read_align(Settings& settings, Get get) {
  constexpr const char* variable = "BLASTOFF_ALIGN";
  const std::string_view align = value_of(get, variable);
  if (align.empty()) return;
  const std::size_t size = parse_size(align);
  if (size == 0) return refuse(settings, get, variable, "a size in bytes, or with suffix K, M, G or T");
  settings.align_from = size;
}

int read_node(Get get) {
  const auto node = parse_number(value_of(get, "BLASTOFF_DEVICE_NODE"));
  return node && *node < 1024 ? static_cast<int>(*node) : -1;
}

/// The entry of a comma-separated list, counted round; nullopt where it is no number (a UUID).
std::optional<unsigned> entry(std::string_view list, unsigned index) {
  std::array<std::string_view, 64> words;
  std::size_t count = 0;
  while (count < words.size()) {
    const std::size_t comma = list.find(',');
    words[count++] = list.substr(0, comma);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return parse_number(words[index % count]);
}

}  // namespace

std::size_t parse_size(const char* text) {
  return parse_size(std::string_view(text));
}

Settings read_settings(Get get) {
  Settings settings;
  read_place(settings, get);
  read_align(settings, get);
  settings.chosen_node = read_node(get);
  settings.device = device_index(get);
  return settings;
}

unsigned device_index(Get get) {
  const auto named = device::find_kind(value_of(get, "BLASTOFF_DEVICE"));
  const device::Kind& kind = named ? *named->kind : device::default_kind;
  std::optional<unsigned> index;
  if (named && !named->number.empty()) index = parse_number(named->number);
  for (const char* const rank : platform::local_rank_variables)
    if (!index) index = parse_number(value_of(get, rank));
  const std::string_view visible = *kind.visible == '\0' ? std::string_view{} : value_of(get, kind.visible);
  return visible.empty() ? index.value_or(0) : entry(visible, index.value_or(0)).value_or(index.value_or(0));
}

}  // namespace blastoff::allocator
