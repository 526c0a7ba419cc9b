#include "intercept/symbols/blas_name.h"

#include <algorithm>

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

constexpr char capital(char letter) {
  return letter >= 'a' && letter <= 'z' ? static_cast<char>(letter - 'a' + 'A') : letter;
}

bool starts_with_routine(std::string_view name, std::string_view routine, bool capitals) {
  return name.size() >= routine.size() &&
         std::equal(routine.begin(), routine.end(), name.begin(),
                    [&](char expected, char found) { return found == (capitals ? capital(expected) : expected); });
}

/// The longest routine that `name` starts with: dgemmtr, not dgemm.
const blas::RoutineRow* routine_at_start(std::string_view name, bool capitals) {
  const blas::RoutineRow* longest = nullptr;
  for (const blas::RoutineRow& row : blas::routines())
    if (starts_with_routine(name, row.name, capitals) &&
        (longest == nullptr || std::string_view(row.name).size() > std::string_view(longest->name).size()))
      longest = &row;
  return longest;
}

}  // namespace

std::optional<BlasName> parse_blas_name(std::string_view name) {
  if (name.find('.') != std::string_view::npos) return std::nullopt;
  std::optional<BlasName> last;
  for (std::size_t place = find_level3_name(name, 0); place != std::string_view::npos;
       place = find_level3_name(name, place + 1)) {
    const bool capitals = name[place] >= 'A' && name[place] <= 'Z';
    const blas::RoutineRow* const row = routine_at_start(name.substr(place), capitals);
    if (row == nullptr) continue;
    last = BlasName{name.substr(0, place), static_cast<blas::Routine>(row - blas::routine_table),
                    name.substr(place + std::string_view(row->name).size()), capitals};
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
