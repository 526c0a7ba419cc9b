#include "intercept/symbols/spelled_functions.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "intercept/blas/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/symbols/blas_name.h"
#include "intercept/symbols/object_file.h"

namespace blastoff::intercept {
namespace {

// Recognises BLAS libraries whose builder has added a prefix or suffix to all names.

/// prefix + "dgemm_" + suffix and prefix + "cblas_dgemm" + suffix.
struct Renaming {
  std::string prefix;
  std::string suffix;
};

/// With so many routines in both styles, an object is a library, not a program's wrapper.
constexpr std::size_t many = 6;

bool is_fortran(const Renaming& renaming, const BlasName& name) {
  return !name.capitals && name.prefix == renaming.prefix && name.suffix.starts_with('_') &&
         name.suffix.substr(1) == renaming.suffix;
}

/// Returns the builder's prefix of a name of the C interface; nullopt: the name is not of the C interface.
std::optional<std::string_view> prefix_of_c_name(const BlasName& name) {
  const std::string_view own = name.routine.table->c_prefix;
  if (name.capitals || own.empty() || !name.prefix.ends_with(own)) return std::nullopt;
  return name.prefix.substr(0, name.prefix.size() - own.size());
}

bool is_cblas(const Renaming& renaming, const BlasName& name) {
  return name.suffix == renaming.suffix && prefix_of_c_name(name) == renaming.prefix;
}

void add(std::vector<Renaming>& renamings, std::string_view prefix, std::string_view suffix) {
  const auto same = [&](const Renaming& known) { return known.prefix == prefix && known.suffix == suffix; };
  if (std::none_of(renamings.begin(), renamings.end(), same))
    renamings.push_back({std::string(prefix), std::string(suffix)});
}

bool has_both_styles(const Renaming& renaming, const std::vector<BlasName>& names) {
  std::size_t fortran_count = 0;
  std::size_t cblas_count = 0;
  for (const BlasName& name : names) {
    fortran_count += is_fortran(renaming, name) ? 1 : 0;
    cblas_count += is_cblas(renaming, name) ? 1 : 0;
  }
  return fortran_count >= many && cblas_count >= many;
}

/// Returns the renamings for which the object gives evidence. Evidence is: OpenBLAS's own functions have the same
/// prefix and suffix (OpenBLAS's build renames everything that it exports), or the object has many routines in both
/// calling styles. A common prefix alone is no evidence: pdgemm_, gsl_blas_dgemm, ATL_dgemm and bli_dgemm take other
/// arguments.
std::vector<Renaming> proven_renamings(const ObjectFile& object, const std::vector<BlasName>& names) {
  std::vector<Renaming> proven;
  for (const std::string_view own : {"openblas_get_config", "openblas_set_num_threads"})
    for (const std::string_view name : object.first_names_with(own)) {
      const std::size_t place = name.find(own);
      add(proven, name.substr(0, place), name.substr(place + own.size()));
    }
  std::vector<Renaming> possible;
  for (const BlasName& name : names)
    if (const auto prefix = prefix_of_c_name(name)) add(possible, *prefix, name.suffix);
  for (const Renaming& renaming : possible)
    if (has_both_styles(renaming, names)) add(proven, renaming.prefix, renaming.suffix);
  return proven;
}

/// Returns the calling convention of a name that follows one of the renamings.
std::optional<KnownSpelling> renamed_spelling(const std::vector<Renaming>& renamings, const BlasName& name) {
  for (const Renaming& renaming : renamings) {
    const bool wide = renaming.suffix.find("64") != std::string::npos;
    if (is_fortran(renaming, name)) return KnownSpelling{abi::Style::fortran, wide, false};
    if (is_cblas(renaming, name)) return KnownSpelling{abi::Style::cblas, wide, false};
  }
  return std::nullopt;
}

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
