#include "device/open.h"

#include <iterator>

#include <fmt/format.h>

#include "device/kind_functions.h"

namespace blastoff::device {

const char* to_string(HostAccess access) {
  switch (access) {
    case HostAccess::none: return "none";
    case HostAccess::pageable: return "pageable";
    case HostAccess::coherent: return "coherent";
    case HostAccess::unified: return "unified";
  }
  return "";
}

Result<std::vector<std::string>> list(const Choice& choice) {
  const auto named = find_kind(choice.name);
  const bool all = named && named->number == "all";
  if (!named || (!all && named->number.find(',') == std::string_view::npos)) return std::vector{choice.name};
  std::vector<std::string> names;
  const auto add = [&](std::string_view number) { names.push_back(fmt::format("{}:{}", named->kind->name, number)); };
  if (all) {
    const auto count = functions_of(*named->kind).count(choice);
    if (!count) return tl::unexpected(count.error());
    for (int i = 0; i < *count; ++i) add(std::to_string(i));
    return names;
  }
  std::string_view rest = named->number;
  for (std::size_t comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
    add(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  add(rest);
  return names;
}

Expected expected(const std::string& name) {
  const auto named = find_kind(name);
  return named ? functions_of(*named->kind).expected() : Expected();
}

std::string absence(const std::string& name) {
  const auto named = find_kind(name);
  return named ? functions_of(*named->kind).absence() : "";
}

int expected_sharers(const std::string& name, int devices, int local_size) {
  const auto named = find_kind(name);
  if (!named || local_size <= 1 || !named->number.empty()) return 1;
  const std::string variable(named->kind->visible);
  const bool chosen = !variable.empty() && secure_getenv(variable.c_str()) != nullptr;
  return chosen || devices == 0 ? 1 : (local_size + devices - 1) / devices;
}

Result<std::unique_ptr<Device>> open(const Choice& choice) {
  const auto named = find_kind(choice.name);
  if (named) return functions_of(*named->kind).open(choice);
  std::string accepted;
  for (const Kind& kind : kinds) {
    if (!accepted.empty()) accepted += &kind == std::end(kinds) - 1 ? " and " : ", ";
    accepted += kind.name;
    if (kind.numbered) accepted += fmt::format(", {}:N", kind.name);
  }
  return tl::unexpected(
      Error{ErrorKind::unavailable, fmt::format("no device \"{}\": accepted are {}", choice.name, accepted)});
}

}  // namespace blastoff::device
