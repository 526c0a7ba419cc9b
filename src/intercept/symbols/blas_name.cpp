#include "intercept/symbols/blas_name.h"

#include <cstddef>

#include "intercept/front_ends.h"
#include "intercept/symbols/name_search.h"

namespace blastoff::intercept {
namespace {

bool is_capital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

bool starts_with_routine(std::string_view name, std::string_view routine, bool capitals) {
  if (name.size() < routine.size() || (name.front() | 0x20) != routine.front()) return false;
  for (std::size_t i = 0; i < routine.size(); ++i) {
    const bool letter = routine[i] >= 'a';
    if (name[i] != (capitals && letter ? routine[i] - 'a' + 'A' : routine[i])) return false;
  }
  return true;
}

/// The longest routine that `name` starts with: dgemmtr, not dgemm.
std::optional<Routine> routine_at_start(std::string_view name, bool capitals) {
  std::optional<Routine> longest;
  for (const RoutineTable* table : front_ends())
    for (std::size_t number = 0; number < table->names.size(); ++number)
      if (starts_with_routine(name, table->names[number], capitals) &&
          (!longest || table->names[number].size() > longest->name().size()))
        longest = Routine{table, static_cast<std::uint16_t>(number)};
  return longest;
}

}  // namespace

std::optional<BlasName> parse_blas_name(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return std::nullopt;
  std::optional<BlasName> last;
  std::size_t end_of_last = 0;
  for (std::size_t place = find_routine_name(name, 0); place != std::string_view::npos;
       place = find_routine_name(name, place + 1)) {
    const bool capitals = is_capital(name[place]);
    const std::optional<Routine> routine = routine_at_start(name.substr(place), capitals);
    if (!routine) continue;
    const std::size_t end = place + routine->name().size();
    // fftw_execute_dft is a part of dfftw_execute_dft_.
    if (end <= end_of_last) continue;
    end_of_last = end;
    last = BlasName{name.substr(0, place), *routine, name.substr(end), capitals};
  }
  return last;
}

std::optional<KnownSpelling> known_spelling(const BlasName& name) {
  for (const Spelling& spelling : name.routine.table->spellings) {
    if (spelling.prefix != name.prefix || spelling.suffix != name.suffix) continue;
    if (name.capitals && !spelling.prefix.empty()) continue;
    return KnownSpelling{spelling.style, spelling.decoration == Decoration::suffixed,
                         spelling.decoration == Decoration::undecorated};
  }
  return std::nullopt;
}

}  // namespace blastoff::intercept
