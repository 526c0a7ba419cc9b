#include "allocator/settings.h"

#include <array>
#include <optional>
#include <string_view>

#include "config/accepted.h"
#include "config/options.def"
#include "device/kinds.h"
#include "platform/mpi_ranks.h"

namespace blastoff::allocator {

namespace {

using Get = const char* (*)(const char*);

constexpr std::size_t default_bind_from = std::size_t{64} << 20;

/// Returns the value of a variable; "" if it is not set.
std::string_view value_of(Get get, const char* variable) {
  const char* const text = get(variable);
  return text == nullptr ? std::string_view{} : text;
}

/// A row of the option table: a variable, and what it accepts.
struct Row {
  std::string_view name;
  const char* variable;
  config::Accepted accepted;
};
using namespace config::accepted;
using config::unlimited;
constexpr Row rows[] = {
#define BLASTOFF_ROW(field, name, variable, accepted, ...) {name, variable, accepted},
    BLASTOFF_LIBRARY_OPTIONS(BLASTOFF_ROW)
#undef BLASTOFF_ROW
#define BLASTOFF_ROW(name, variable, accepted, ...) {name, variable, accepted},
        BLASTOFF_LAUNCHER_OPTIONS(BLASTOFF_ROW)
#undef BLASTOFF_ROW
};

consteval const Row& row(std::string_view name) {
  std::size_t i = 0;
  while (rows[i].name != name) ++i;
  return rows[i];
}

void refuse(Settings& settings, Get get, const Row& row) {
  settings.bad_variable = row.variable;
  settings.bad_value = get(row.variable);
  settings.accepted[0] = '\0';
  std::size_t length = 0;
  describe_accepted(row.accepted, [&](std::string_view piece) {
    const std::size_t bytes = piece.copy(settings.accepted + length, sizeof settings.accepted - 1 - length);
    settings.accepted[length += bytes] = '\0';
  });
}

/// nullopt if the variable is not set, or its value is rejected.
std::optional<config::Value> read(Settings& settings, Get get, const Row& row) {
  const std::string_view text = value_of(get, row.variable);
  if (text.empty()) return std::nullopt;
  const std::optional<config::Value> value = parse_value(row.accepted, text);
  if (!value) refuse(settings, get, row);
  return value;
}

void read_place(Settings& settings, Get get) {
  constexpr const Row& place = row("place");
  const std::string_view text = value_of(get, place.variable);
  settings.huge_pages = text != "none";
  const std::optional<config::Value> value = read(settings, get, place);
  if (!value || text == "none" || text == "huge-pages") return;
  settings.only_where_it_pays = text == "auto";
  settings.bind_from = value->bytes > 0 ? value->bytes : default_bind_from;
}

void read_align(Settings& settings, Get get) {
  if (const auto value = read(settings, get, row("align"))) settings.align_from = value->bytes;
}

/// Returns -1 for a bad value; libblastoff.so reports it.
int read_node(Get get) {
  constexpr const Row& node = row("device-node");
  const auto value = parse_value(node.accepted, value_of(get, node.variable));
  return value ? static_cast<int>(value->integer) : -1;
}

/// Returns entry `index` of a comma-separated list, modulo its length; nullopt if the entry is not a number (a UUID).
std::optional<unsigned> entry(std::string_view list, unsigned index) {
  std::array<std::string_view, 64> words;
  std::size_t count = 0;
  while (count < words.size()) {
    const std::size_t comma = list.find(',');
    words[count++] = list.substr(0, comma);
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return parse_number<unsigned>(words[index % count]);
}

}  // namespace

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
  if (named && !named->number.empty()) index = entry(named->number, 0);  // the first of several
  const bool in_step = parse_number<unsigned>(value_of(get, platform::slurm_step_variable)).has_value();
  for (const char* const rank : platform::local_rank_variables) {
    if (!in_step && std::string_view(rank).starts_with(platform::slurm_prefix)) continue;
    if (!index) index = parse_number<unsigned>(value_of(get, rank));
  }
  const std::string_view visible = *kind.visible == '\0' ? std::string_view{} : value_of(get, kind.visible);
  return visible.empty() ? index.value_or(0) : entry(visible, index.value_or(0)).value_or(index.value_or(0));
}

}  // namespace blastoff::allocator
