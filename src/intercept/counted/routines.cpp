#include "intercept/counted/routines.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>
#include <vector>

#include "intercept/counted/routines.def"

namespace blastoff::intercept::counted {
namespace {

struct Named {
  Family family;
  std::string name;
};

std::vector<Named> make_routines() {
  std::vector<Named> all;
  const auto add = [&](Family family, std::string_view letters, std::string_view before, std::string_view after) {
    if (letters.empty()) all.push_back({family, std::string(before)});
    for (const char letter : letters) all.push_back({family, std::string(before) + letter + std::string(after)});
  };
#define BLASTOFF_ADD_ROUTINE(family, letters, before, after) add(Family::family, letters, before, after);
  BLASTOFF_COUNTED_ROUTINES(BLASTOFF_ADD_ROUTINE)
#undef BLASTOFF_ADD_ROUTINE
  return all;
}

/// Lives until the process ends.
const std::vector<Named>& routines() {
  static const std::vector<Named>& all = *new std::vector<Named>(make_routines());
  return all;
}

const std::unordered_map<std::string_view, std::uint16_t>& numbers() {
  static const auto& all = *[] {
    auto* const map = new std::unordered_map<std::string_view, std::uint16_t>;
    for (std::uint16_t routine = 0; routine < routine_count(); ++routine) map->emplace(name_of(routine), routine);
    return map;
  }();
  return all;
}

/// What a name may end in. The longest comes first.
constexpr std::array<std::string_view, 4> suffixes = {"_64_", "_64", "64_", "_"};

}  // namespace

std::uint16_t routine_count() {
  return static_cast<std::uint16_t>(routines().size());
}

std::string_view name_of(std::uint16_t routine) {
  return routines()[routine].name;
}

Family family_of(std::uint16_t routine) {
  return routines()[routine].family;
}

std::optional<std::uint16_t> routine_of(std::string_view symbol) {
  constexpr std::string_view builder = "scipy_";
  constexpr std::string_view c_prefix = "cblas_";
  constexpr std::string_view subroutine = "_sub";  // of C functions that store a complex result: cblas_zdotc_sub
  std::string_view name = symbol;
  if (name.starts_with(builder)) name.remove_prefix(builder.size());
  const bool is_c = name.starts_with(c_prefix);
  if (is_c) name.remove_prefix(c_prefix.size());
  const auto* const suffix =
      std::ranges::find_if(suffixes, [&](std::string_view each) { return name.ends_with(each); });
  if (suffix != suffixes.end())
    name.remove_suffix(suffix->size());
  else if (!is_c)
    return std::nullopt;
  if (is_c && name.ends_with(subroutine)) name.remove_suffix(subroutine.size());
  const auto found = numbers().find(name);
  return found == numbers().end() ? std::nullopt : std::optional(found->second);
}

}  // namespace blastoff::intercept::counted
