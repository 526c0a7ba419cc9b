#include "intercept/symbols/spelled_functions.h"

#include <algorithm>
#include <utility>

#include "intercept/symbols/renamed_blas.h"

namespace blastoff::intercept {
namespace {

struct Candidate {
  FunctionSymbol symbol;
  BlasName name;
  std::optional<KnownSpelling> spelling;
};

bool is_plain(const BlasName& name, std::string_view suffix, bool capitals) {
  return name.prefix.empty() && name.suffix == suffix && name.capitals == capitals;
}

template <class Functions>
bool have(const Functions& functions, const Routine& routine, std::string_view suffix, bool capitals) {
  return std::any_of(functions.begin(), functions.end(), [&](const auto& function) {
    return function.name.routine == routine && is_plain(function.name, suffix, capitals);
  });
}

/// Whether a name is that of an inner Fortran function that dgemm_ or the like calls.
bool is_vendors_inner_name(const BlasName& name, const std::vector<Candidate>& company) {
  const auto suffixes = name.routine.table->inner_suffixes;
  return std::any_of(suffixes.begin(), suffixes.end(),
                     [&](std::string_view suffix) { return is_plain(name, suffix, false); }) &&
         have(company, name.routine, "_", false);
}

std::vector<Candidate> parsed_candidates(const ObjectFile& object) {
  const std::vector<FunctionSymbol> symbols = object.blas_candidates();
  std::vector<Candidate> candidates;
  candidates.reserve(symbols.size());
  for (const FunctionSymbol& symbol : symbols)
    if (const std::optional<BlasName> name = parse_blas_name(symbol.name))
      candidates.push_back({symbol, *name, known_spelling(*name)});
  return candidates;
}

/// Recognises the names of vendors and builders, if the object shows evidence for them.
void spell_by_company(const ObjectFile& object, std::vector<Candidate>& candidates) {
  std::vector<BlasName> names;
  names.reserve(candidates.size());
  for (const Candidate& candidate : candidates) names.push_back(candidate.name);
  const std::vector<Renaming> renamings = proven_renamings(object, names);
  for (Candidate& candidate : candidates) {
    if (candidate.spelling) continue;
    candidate.spelling = renamed_spelling(renamings, candidate.name);
    if (!candidate.spelling && is_vendors_inner_name(candidate.name, candidates))
      candidate.spelling = KnownSpelling{abi::Style::fortran, false, false};
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

}  // namespace

SpelledFunctions spelled_functions(const ObjectFile& object) {
  std::vector<Candidate> candidates = parsed_candidates(object);
  spell_by_company(object, candidates);
  SpelledFunctions found;
  for (const Candidate& candidate : candidates)
    if (candidate.spelling)
      found.functions.push_back({candidate.symbol, candidate.name, *candidate.spelling});
    else if (has_unproven_prefix(candidate.name))
      found.unproven.push_back(candidate.symbol);
  sort_and_drop_repeats(found.functions, [](const SpelledFunction& function) { return function.symbol; });
  sort_and_drop_repeats(found.unproven, [](const FunctionSymbol& symbol) { return symbol; });
  // A function that also has a recognised name needs no other evidence.
  std::erase_if(found.unproven, [&](const FunctionSymbol& symbol) {
    return std::any_of(found.functions.begin(), found.functions.end(),
                       [&](const SpelledFunction& function) { return function.symbol.address == symbol.address; });
  });
  return found;
}

const char* undecorated_rule(const BlasName& name, const std::vector<SpelledFunction>& company) {
  if (have(company, name.routine, "_", false)) return "not the object's function with an underscore";
  const RoutineTable& table = *name.routine.table;
  const auto count = static_cast<std::uint16_t>(table.names.size());
  for (std::uint16_t other = 0; other < count; ++other)
    if (table.accompanies(name.routine.number, other) && !have(company, {&table, other}, "", name.capitals))
      return table.without_company;
  return nullptr;
}

}  // namespace blastoff::intercept
