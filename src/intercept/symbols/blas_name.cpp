#include "intercept/symbols/blas_name.h"

#include <cstddef>

#include "intercept/front_ends.h"
#include "intercept/symbols/name_search.h"

namespace blastoff::intercept {
namespace {

bool is_capital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

bool is_small(char letter) {
  return letter >= 'a' && letter <= 'z';
}

/// Returns the routine with a number in routine_names, which lists the routines of all tables.
Routine routine_numbered(std::size_t number) {
  for (const RoutineTable* table : front_ends()) {
    if (number < table->names.size()) return {table, static_cast<std::uint16_t>(number)};
    number -= table->names.size();
  }
  return {};
}

}  // namespace

std::optional<BlasName> parse_blas_name(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return std::nullopt;
  std::optional<BlasName> last;
  std::size_t end_of_last = 0;
  for (std::size_t place = find_routine_name(name, 0); place != std::string_view::npos;
       place = find_routine_name(name, place + 1)) {
    // Only the first letter of DftiComputeForward's words is a capital.
    const bool capitals = is_capital(name[place]) && !is_small(name[place + 1]);
    const std::optional<std::size_t> number = longest_routine_name(name.substr(place), capitals);
    if (!number) continue;
    const Routine routine = routine_numbered(*number);
    const std::size_t end = place + routine.name().size();
    // The name lies within another one: fftw_execute_dft in dfftw_execute_dft_.
    if (end <= end_of_last) continue;
    end_of_last = end;
    last = BlasName{name.substr(0, place), routine, name.substr(end), capitals};
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
