#include "intercept/symbols/blas_functions.h"

#include <algorithm>
#include <optional>
#include <tuple>

#include "intercept/integer_width.h"
#include "intercept/symbols/blas_name.h"
#include "intercept/symbols/renamed_blas.h"

namespace blastoff::intercept {
namespace {

/// A candidate whose name holds a routine's.
struct Named {
  const FunctionSymbol* symbol;
  BlasName name;
  std::optional<KnownSpelling> spelling;
};

bool is_plain(const BlasName& name, std::string_view suffix, bool capitals) {
  return name.prefix.empty() && name.suffix == suffix && name.capitals == capitals;
}

/// What the rules ask about an object's names.
class Company {
 public:
  explicit Company(const std::vector<Named>& all) : all_(all) {}

  /// Whether it has the routine as prefix-less name with that suffix.
  bool has(blas::Routine routine, std::string_view suffix, bool capitals) const {
    return std::any_of(all_.begin(), all_.end(), [&](const Named& other) {
      return other.name.routine == routine && is_plain(other.name, suffix, capitals);
    });
  }

  /// Whether it has all level-3 kinds of the routine's type without decoration.
  bool has_all_undecorated(const BlasName& name) const {
    using blas::Kind;
    const blas::Scalar scalar = row(name.routine).scalar;
    return std::all_of(blas::routines().begin(), blas::routines().end(), [&](const blas::RoutineRow& row) {
      const auto routine = static_cast<blas::Routine>(&row - blas::routine_table);
      const bool asked = row.scalar == scalar && row.kind != Kind::gemmt && routine_of(row.kind, scalar) == routine;
      return !asked || has(routine, "", name.capitals);
    });
  }

 private:
  const std::vector<Named>& all_;
};

/// The Fortran functions behind dgemm_: of BLIS (and AOCL), and of NVPL.
bool is_vendors_inner_name(const BlasName& name, const Company& company) {
  return (is_plain(name, "_blis_impl", false) || is_plain(name, "_internal_", false)) &&
         company.has(name.routine, "_", false);
}

std::vector<Named> name_candidates(const ObjectFile& object, const std::vector<FunctionSymbol>& candidates) {
  std::vector<Named> all;
  std::vector<BlasName> names;
  for (const FunctionSymbol& symbol : candidates) {
    const std::optional<BlasName> name = parse_blas_name(symbol.name);
    if (!name) continue;
    all.push_back({&symbol, *name, known_spelling(*name)});
    names.push_back(*name);
  }
  const std::vector<Renaming> renamings = proven_renamings(object, names);
  const Company company(all);
  for (Named& named : all) {
    if (named.spelling) continue;
    named.spelling = is_vendors_inner_name(named.name, company)
                         ? std::optional(KnownSpelling{abi::Style::fortran, false, false})
                         : renamed_spelling(renamings, named.name);
  }
  return all;
}

/// A function of the same code has one calling convention and does one thing.
bool agree(const Named& left, const Named& right) {
  const blas::RoutineRow& one = row(left.name.routine);
  const blas::RoutineRow& other = row(right.name.routine);
  return one.kind == other.kind && one.scalar == other.scalar && left.spelling->style == right.spelling->style;
}

/// The name to report first: exported, small letters, decorated, short.
bool comes_first(const Named& left, const Named& right) {
  const auto rank = [](const Named& named) {
    return std::tuple(!named.symbol->exported, named.name.capitals, named.spelling->undecorated,
                      named.symbol->name.size(), named.symbol->name);
  };
  return rank(left) < rank(right);
}

/// Why functions that have no decorated name at their address are left alone; "" if they are BLAS nevertheless.
std::string undecorated_rule(const BlasName& name, const Company& company) {
  if (company.has(name.routine, "_", false)) return "not the same function as the object's decorated one";
  if (!company.has_all_undecorated(name)) return "undecorated, in an object without all of level 3: anybody's function";
  return {};
}

class Sorter {
 public:
  Sorter(const Company& company, abi::IntegerWidth library_width) : company_(company), library_width_(library_width) {}

  /// Takes the names of one address, at least one of them with a spelling.
  void add(std::vector<Named>& names) {
    std::erase_if(names, [](const Named& named) { return !named.spelling; });
    std::sort(names.begin(), names.end(), comes_first);
    const bool decorated =
        std::any_of(names.begin(), names.end(), [](const Named& n) { return !n.spelling->undecorated; });
    std::string rule;
    if (!std::all_of(names.begin(), names.end(), [&](const Named& named) { return agree(named, names.front()); }))
      rule = "several routines share its code";
    else if (!decorated)
      rule = undecorated_rule(names.front().name, company_);
    if (rule.empty()) {
      found.functions.push_back(function_of(names));
      return;
    }
    for (const Named& named : names) found.left_alone.push_back({std::string(named.symbol->name), rule});
  }

  BlasFunctions found;

 private:
  BlasFunction function_of(const std::vector<Named>& names) const {
    const Named& first = names.front();
    BlasFunction function;
    function.prefix = first.name.prefix;
    function.suffix = first.name.suffix;
    function.routine = first.name.routine;
    function.convention = {first.spelling->style, library_width_};
    function.address = first.symbol->address;
    function.size = first.symbol->size;
    function.room = first.symbol->room;
    for (const Named& named : names) {
      function.names.emplace_back(named.symbol->name);
      function.exported |= named.symbol->exported;
      function.indirect |= named.symbol->indirect;
      if (named.spelling->wide) function.convention.integers = abi::IntegerWidth::ilp64;
    }
    return function;
  }

  const Company& company_;
  abi::IntegerWidth library_width_;
};

/// A prefix that might be a build's own, but that nothing proves.
void report_unproven(const Named& named, BlasFunctions& found) {
  const BlasName& name = named.name;
  if (named.spelling || name.capitals || !name.prefix.ends_with('_') || name.prefix.ends_with("cblas_")) return;
  const auto plain = known_spelling({"", name.routine, name.suffix, false});
  if (!plain || plain->undecorated) return;
  found.left_alone.push_back(
      {std::string(named.symbol->name), "prefix " + std::string(name.prefix) + ": nothing shows that it is BLAS"});
}

}  // namespace

BlasFunctions find_blas_functions(const ObjectFile& object, const char* path) {
  const std::vector<FunctionSymbol> candidates = object.blas_candidates();
  if (candidates.empty()) return {};
  const std::vector<Named> all = name_candidates(object, candidates);
  const Company company(all);
  const bool is_library = object.linkage() == Linkage::shared_object;
  Sorter sorter(company, is_library ? library_integer_width(path) : abi::IntegerWidth::lp64);
  for (auto first = all.begin(); first != all.end();) {  // in the order of their addresses
    const auto last =
        std::find_if(first, all.end(), [&](const Named& n) { return n.symbol->address != first->symbol->address; });
    std::vector<Named> names(first, last);
    first = last;
    if (std::any_of(names.begin(), names.end(), [](const Named& named) { return named.spelling.has_value(); }))
      sorter.add(names);
    else
      for (const Named& named : names) report_unproven(named, sorter.found);
  }
  return std::move(sorter.found);
}

const BlasFunction* sibling(const BlasFunctions& found, const BlasFunction& function, blas::Routine routine) {
  for (const BlasFunction& other : found.functions)
    if (other.routine == routine && other.prefix == function.prefix && other.suffix == function.suffix &&
        other.convention.style == function.convention.style)
      return &other;
  return nullptr;
}

}  // namespace blastoff::intercept
