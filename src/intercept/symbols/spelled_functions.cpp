#include "intercept/symbols/spelled_functions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "intercept/blas/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/symbols/renamed_blas.h"

namespace blastoff::intercept {
namespace {

/// Functions whose names contain a routine's, thousands in a large library. Entry i of each list belongs to function i.
struct Candidates {
  std::vector<FunctionSymbol> symbols;
  std::vector<BlasName> names;
  std::vector<std::optional<KnownSpelling>> spellings;
};

bool is_plain(const BlasName& name, std::string_view suffix, bool capitals) {
  return name.prefix.empty() && name.suffix == suffix && name.capitals == capitals;
}

template <class Named, class NameOf>
bool have(const std::vector<Named>& all, NameOf name_of, const Routine& routine, std::string_view suffix,
          bool capitals) {
  return std::ranges::any_of(
      all, [&](const BlasName& name) { return name.routine == routine && is_plain(name, suffix, capitals); }, name_of);
}

/// Whether a name is that of an inner Fortran function that dgemm_ or the like calls.
bool is_vendors_inner_name(const BlasName& name, const std::vector<BlasName>& company) {
  const auto suffixes = name.routine.table->inner_suffixes;
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return is_plain(name, suffix, false); }) &&
         have(company, std::identity(), name.routine, "_", false);
}

/// An object with at least this many LAPACK routines counts as the whole of LAPACK.
constexpr std::ptrdiff_t max_of_lapack = 100;

Candidates parsed(std::vector<FunctionSymbol> symbols) {
  Candidates candidates{.symbols = std::move(symbols), .names = {}, .spellings = {}};
  candidates.names.reserve(candidates.symbols.size());
  candidates.spellings.reserve(candidates.symbols.size());
  std::erase_if(candidates.symbols, [&](const FunctionSymbol& symbol) {
    const std::optional<BlasName> name = parse_blas_name(symbol.name);
    if (!name) return true;
    candidates.names.push_back(*name);
    candidates.spellings.push_back(known_spelling(*name));
    return false;
  });
  return candidates;
}

/// Recognises the names of vendors and builders, if the object shows evidence for them.
void spell_by_company(const ObjectFile& object, Candidates& candidates) {
  const std::vector<Renaming> renamings = proven_renamings(object, candidates.names);
  for (std::size_t i = 0; i < candidates.names.size(); ++i) {
    std::optional<KnownSpelling>& spelling = candidates.spellings[i];
    if (spelling) continue;
    spelling = renamed_spelling(renamings, candidates.names[i]);
    if (!spelling && is_vendors_inner_name(candidates.names[i], candidates.names))
      spelling = KnownSpelling{abi::Style::fortran, false, false};
  }
}

/// Whether a name would be a BLAS library's name without its prefix.
bool has_unproven_prefix(const BlasName& name) {
  if (name.capitals || !name.prefix.ends_with('_') || name.prefix.ends_with(name.routine.table->c_prefix)) return false;
  const auto plain = known_spelling({"", name.routine, name.suffix, false});
  return plain && !plain->undecorated;
}

/// Keeps the first of several equal names at an address.
template <class Function, class SymbolOf>
void sort_and_drop_repeats(std::vector<Function>& functions, SymbolOf symbol_of) {
  const auto key = [&](const Function& function) {
    return std::pair(symbol_of(function).address, symbol_of(function).name);
  };
  std::stable_sort(functions.begin(), functions.end(),
                   [&](const Function& left, const Function& right) { return key(left) < key(right); });
  const auto same = [&](const Function& left, const Function& right) { return key(left) == key(right); };
  functions.erase(std::unique(functions.begin(), functions.end(), same), functions.end());
}

SpelledFunctions spelled_among(const ObjectFile& object, std::vector<FunctionSymbol> symbols) {
  Candidates candidates = parsed(std::move(symbols));
  spell_by_company(object, candidates);
  SpelledFunctions found;
  for (std::size_t i = 0; i < candidates.names.size(); ++i)
    if (candidates.spellings[i])
      found.functions.push_back({candidates.symbols[i], candidates.names[i], *candidates.spellings[i]});
    else if (has_unproven_prefix(candidates.names[i]))
      found.unproven.push_back(candidates.symbols[i]);
  sort_and_drop_repeats(found.functions, [](const SpelledFunction& function) { return function.symbol; });
  sort_and_drop_repeats(found.unproven, [](const FunctionSymbol& symbol) { return symbol; });
  // A function that also has a recognised name needs no other evidence.
  std::erase_if(found.unproven, [&](const FunctionSymbol& symbol) {
    return std::any_of(found.functions.begin(), found.functions.end(),
                       [&](const SpelledFunction& function) { return function.symbol.address == symbol.address; });
  });
  return found;
}

}  // namespace

SpelledFunctions spelled_functions(const ObjectFile& object) {
  // The other table of a complete library holds the same names again, and those of inner functions. They would take
  // half of the time of the search.
  if (!object.stripped() && object.linkage() == Linkage::shared_object && object.exports(max_of_lapack)) {
    SpelledFunctions exported = spelled_among(object, object.dynamic_blas_candidates());
    if (exported_families(exported.functions).complete()) return exported;
  }
  return spelled_among(object, object.blas_candidates());
}

ExportedFamilies exported_families(const std::vector<SpelledFunction>& all) {
  std::array<bool, blas::routine_count> blas_there{};
  std::array<bool, lapack::routine_count> lapack_there{};
  for (const SpelledFunction& function : all) {
    if (function.spelling.undecorated || !function.symbol.exported) continue;
    const Routine& routine = function.name.routine;
    if (routine.table == &blas_routines) blas_there[routine.number] = true;
    if (routine.table == &lapack_routines) lapack_there[routine.number] = true;
  }
  ExportedFamilies families{.level3 = true};
  for (std::uint16_t routine = 0; routine < blas::routine_count; ++routine)
    families.level3 &= blas_there[routine] || !blas_routines.accompanies(routine, routine);
  families.lapack = std::count(lapack_there.begin(), lapack_there.end(), true) >= max_of_lapack;
  return families;
}

const char* undecorated_rule(const BlasName& name, const std::vector<SpelledFunction>& company) {
  if (have(company, &SpelledFunction::name, name.routine, "_", false))
    return "not the object's function with an underscore";
  const RoutineTable& table = *name.routine.table;
  const auto count = static_cast<std::uint16_t>(table.names.size());
  for (std::uint16_t other = 0; other < count; ++other)
    if (table.accompanies(name.routine.number, other) &&
        !have(company, &SpelledFunction::name, {&table, other}, "", name.capitals))
      return table.without_company;
  return nullptr;
}

}  // namespace blastoff::intercept
