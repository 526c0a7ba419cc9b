#include "config/routine_choice.h"

#include <fnmatch.h>

#include <algorithm>

#include "config/accepted.h"
#include "config/option_value.h"

namespace blastoff::config {
namespace {

char small(char letter) {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

tl::unexpected<std::string> unknown(const std::string& name, std::span<const std::string> names) {
  const std::string near = similar_word(name, names);
  return tl::unexpected("no routine is called " + (name.empty() ? "''" : name) +
                        (near.empty() ? "" : " (did you mean " + near + "?)"));
}

}  // namespace

tl::expected<RoutineChoice, std::string> RoutineChoice::read(std::string_view list,
                                                             std::span<const std::string> names) {
  RoutineChoice choice;
  if (list.empty()) return choice;
  choice.chosen_.assign(names.size(), list.front() == '-');
  choice.named_.assign(names.size(), false);
  for (bool more = true; more;) {
    const std::string_view item = accepted::cut_at_comma(list, more);
    const bool wanted = !item.starts_with('-');
    std::string pattern(item.substr(wanted ? 0 : 1));
    std::ranges::transform(pattern, pattern.begin(), small);
    bool known = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (fnmatch(pattern.c_str(), names[i].c_str(), FNM_NOESCAPE) != 0) continue;
      choice.chosen_[i] = wanted;
      choice.named_[i] = wanted;
      known = true;
    }
    if (!known) return unknown(pattern, names);
  }
  return choice;
}

}  // namespace blastoff::config
