#include "device/open.h"

#include <iterator>

#include <fmt/format.h>

#include "device/gpu/cuda/cuda_device.h"
#include "device/kinds.h"
#include "device/simulated/simulated_device.h"

namespace blastoff::device {
namespace {

/// By kind, in the order of `kinds`.
constexpr Result<std::unique_ptr<Device>> (*open_functions[])(const Choice&) = {
#define BLASTOFF_OPEN(name, numbered, variable, address_space, timed, help) &name::open,
    BLASTOFF_DEVICE_KINDS(BLASTOFF_OPEN)
#undef BLASTOFF_OPEN
};

constexpr Result<int> (*count_functions[])(const Choice&) = {
#define BLASTOFF_COUNT(name, numbered, variable, address_space, timed, help) &name::count,
    BLASTOFF_DEVICE_KINDS(BLASTOFF_COUNT)
#undef BLASTOFF_COUNT
};

constexpr Expected (*expecting_functions[])() = {
#define BLASTOFF_EXPECTED(name, numbered, variable, address_space, timed, help) &name::expected,
    BLASTOFF_DEVICE_KINDS(BLASTOFF_EXPECTED)
#undef BLASTOFF_EXPECTED
};

constexpr std::string (*absence_functions[])() = {
#define BLASTOFF_ABSENCE(name, numbered, variable, address_space, timed, help) &name::absence,
    BLASTOFF_DEVICE_KINDS(BLASTOFF_ABSENCE)
#undef BLASTOFF_ABSENCE
};

}  // namespace

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
    const auto count = count_functions[named->kind - kinds](choice);
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
  return named ? expecting_functions[named->kind - kinds]() : Expected();
}

std::string absence(const std::string& name) {
  const auto named = find_kind(name);
  return named ? absence_functions[named->kind - kinds]() : "";
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
  if (named) return open_functions[named->kind - kinds](choice);
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
