#include "intercept/symbols/blas_functions.h"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

#include "intercept/integer_width.h"
#include "intercept/symbols/spelled_functions.h"

namespace blastoff::intercept {
namespace {

using Names = std::span<const SpelledFunction>;

/// One piece of code has one calling convention and does one thing.
bool agree(const SpelledFunction& left, const SpelledFunction& right) {
  const Routine& one = left.name.routine;
  const Routine& other = right.name.routine;
  return one.table == other.table && one.table->meaning(one.number) == one.table->meaning(other.number) &&
         left.spelling.style == right.spelling.style;
}

/// The name to report first: exported, in small letters, decorated, short.
bool comes_first(const SpelledFunction& left, const SpelledFunction& right) {
  const auto rank = [](const SpelledFunction& function) {
    return std::tuple(!function.symbol.exported, function.name.capitals, function.spelling.undecorated,
                      function.symbol.name.size(), function.symbol.name);
  };
  return rank(left) < rank(right);
}

/// Why the function with these names is left alone; nullptr: it is BLAS.
const char* rule_against(Names names, const std::vector<SpelledFunction>& company) {
  if (!std::all_of(names.begin(), names.end(), [&](const auto& name) { return agree(name, names.front()); }))
    return "several routines in one";
  if (std::all_of(names.begin(), names.end(), [](const auto& name) { return name.spelling.undecorated; }))
    return undecorated_rule(names.front().name, company);
  return nullptr;
}

BlasFunction function_of(Names names, abi::IntegerWidth library_width) {
  const SpelledFunction& first = names.front();
  BlasFunction function;
  function.prefix = first.name.prefix;
  function.suffix = first.name.suffix;
  function.routine = first.name.routine;
  function.convention = {first.spelling.style, library_width};
  function.address = first.symbol.address;
  for (const SpelledFunction& name : names) {
    function.names.emplace_back(name.symbol.name);
    function.exported |= name.symbol.exported;
    function.indirect |= name.symbol.indirect;
    if (name.spelling.wide) function.convention.integers = abi::IntegerWidth::ilp64;
  }
  return function;
}

/// MKL's single library loads the interface layer (libmkl_intel_lp64, _ilp64) at its first call and passes all calls to
/// it. Only the layer knows the width of its integers, and each call would be intercepted twice.
bool hands_on_to_another(const ObjectFile& object) {
  return object.soname().starts_with("libmkl_rt.");
}

/// It computes on the GPU by itself, also on arrays that the CPU cannot read.
bool is_cufftw(const ObjectFile& object) {
  return object.soname().starts_with("libcufftw.");
}

void leave_all_alone(BlasFunctions& found, const char* rule) {
  for (BlasFunction& function : found.functions) found.left_alone.push_back({std::move(function.names.front()), rule});
  found.functions.clear();
}

/// Sets size and room, and drops what is no code.
void measure(const ObjectFile& object, const std::vector<FunctionSymbol>& symbols,
             std::vector<BlasFunction>& functions) {
  const std::vector<FunctionExtent> extents = object.extents(symbols);
  for (std::size_t i = 0; i < functions.size(); ++i) {
    functions[i].size = extents[i].size;
    functions[i].room = extents[i].room;
  }
  std::erase_if(functions, [](const BlasFunction& function) { return function.size == 0; });
}

}  // namespace

BlasFunctions find_blas_functions(const ObjectFile& object, const char* path) {
  SpelledFunctions spelled = spelled_functions(object);
  // A program's name says nothing about its integers.
  const abi::IntegerWidth width =
      object.linkage() == Linkage::shared_object ? library_integer_width(path) : abi::IntegerWidth::lp64;
  BlasFunctions found;
  std::vector<FunctionSymbol> symbols;
  std::vector<SpelledFunction>& all = spelled.functions;
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(
        first, all.end(), [&](const auto& function) { return function.symbol.address != first->symbol.address; });
    std::sort(first, last, comes_first);
    const Names names(first, last);
    first = last;
    if (const char* const rule = rule_against(names, all)) {
      for (const SpelledFunction& name : names) found.left_alone.push_back({std::string(name.symbol.name), rule});
      continue;
    }
    found.functions.push_back(function_of(names, width));
    symbols.push_back(names.front().symbol);
  }
  measure(object, symbols, found.functions);
  if (hands_on_to_another(object)) leave_all_alone(found, "passes its calls on to MKL's interface layer");
  if (is_cufftw(object)) leave_all_alone(found, "computes on the GPU by itself");
  for (const FunctionSymbol& symbol : spelled.unproven)
    found.left_alone.push_back({std::string(symbol.name), "unknown prefix: nothing shows that it is BLAS"});
  return found;
}

const BlasFunction* sibling(const BlasFunctions& found, const BlasFunction& function, const Routine& routine) {
  for (const BlasFunction& other : found.functions)
    if (other.routine == routine && other.prefix == function.prefix && other.suffix == function.suffix &&
        other.convention.style == function.convention.style)
      return &other;
  return nullptr;
}

}  // namespace blastoff::intercept
