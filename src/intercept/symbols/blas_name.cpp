#include "intercept/symbols/blas_name.h"

#include <cstddef>
#include <iterator>

#include "intercept/spellings.def"
#include "intercept/symbols/level3_names.h"

namespace blastoff::intercept {
namespace {

struct Spelling {
  std::string_view prefix;
  std::string_view suffix;
  KnownSpelling known;
};

enum class Decoration { ambiguous, suffixed, undecorated };

constexpr Spelling spelling(std::string_view prefix, std::string_view suffix, abi::Style style, Decoration decoration) {
  return {prefix, suffix, {style, decoration == Decoration::suffixed, decoration == Decoration::undecorated}};
}

constexpr Spelling spellings[] = {
#define BLASTOFF_ROW(prefix, name, suffix, style, integers, decoration, kind, scalar) \
  spelling(#prefix, #suffix, abi::Style::style, Decoration::decoration),
    BLASTOFF_SPELLINGS(BLASTOFF_ROW, dgemm, gemm, d)
#undef BLASTOFF_ROW
};

constexpr std::string_view routine_names[] = {
#define BLASTOFF_NAME(name, kind, scalar) #name,
    BLASTOFF_ROUTINES(BLASTOFF_NAME)
#undef BLASTOFF_NAME
};

bool is_capital(char letter) {
  return letter >= 'A' && letter <= 'Z';
}

bool starts_with_routine(std::string_view name, std::string_view routine, bool capitals) {
  if (name.size() < routine.size() || (name.front() | 0x20) != routine.front()) return false;
  for (std::size_t i = 0; i < routine.size(); ++i) {
    const bool digit = routine[i] < 'a';
    if (name[i] != (capitals && !digit ? routine[i] - 'a' + 'A' : routine[i])) return false;
  }
  return true;
}

/// The longest routine that `name` starts with: dgemmtr, not dgemm.
std::optional<std::size_t> routine_at_start(std::string_view name, bool capitals) {
  std::optional<std::size_t> longest;
  for (std::size_t i = 0; i < std::size(routine_names); ++i)
    if (starts_with_routine(name, routine_names[i], capitals) &&
        (!longest || routine_names[i].size() > routine_names[*longest].size()))
      longest = i;
  return longest;
}

}  // namespace

std::optional<BlasName> parse_blas_name(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return std::nullopt;
  std::optional<BlasName> last;
  for (std::size_t place = find_level3_name(name, 0); place != std::string_view::npos;
       place = find_level3_name(name, place + 1)) {
    const bool capitals = is_capital(name[place]);
    const std::optional<std::size_t> routine = routine_at_start(name.substr(place), capitals);
    if (!routine) continue;
    last = BlasName{name.substr(0, place), static_cast<blas::Routine>(*routine),
                    name.substr(place + routine_names[*routine].size()), capitals};
  }
  return last;
}

std::optional<KnownSpelling> known_spelling(const BlasName& name) {
  for (const Spelling& spelling : spellings) {
    if (spelling.prefix != name.prefix || spelling.suffix != name.suffix) continue;
    if (name.capitals && !spelling.prefix.empty()) continue;
    return spelling.known;
  }
  return std::nullopt;
}

}  // namespace blastoff::intercept
