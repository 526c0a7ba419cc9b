#include "intercept/symbols/blas_functions.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <tuple>
#include <utility>

#include "intercept/evidence/evidence.h"
#include "intercept/integer_width.h"
#include "intercept/symbols/spelled_functions.h"

namespace blastoff::intercept {
namespace {

/// Whether two names can belong to one function, which has one calling convention and does one thing. In a table with
/// one spelling, routines are called in one way, whatever their names end in.
bool agree(const SpelledFunction& left, const SpelledFunction& right) {
  const Routine& one = left.name.routine;
  const Routine& other = right.name.routine;
  return one.table == other.table && one.table->meaning(one.number) == one.table->meaning(other.number) &&
         (left.spelling.style == right.spelling.style || one.table->spellings.size() == 1);
}

/// The name to report first: exported, in small letters, decorated, short.
bool comes_first(const SpelledFunction& left, const SpelledFunction& right) {
  const auto rank = [](const SpelledFunction& function) {
    return std::tuple(!function.symbol.exported, function.name.capitals, function.spelling.undecorated,
                      function.symbol.name.size(), function.symbol.name);
  };
  return rank(left) < rank(right);
}

bool all_agree(Names names) {
  return std::all_of(names.begin(), names.end(), [&](const auto& name) { return agree(name, names.front()); });
}

BlasFunction function_of(Names names, const FunctionExtent& extent) {
  const SpelledFunction& first = names.front();
  BlasFunction function;
  function.prefix = first.name.prefix;
  function.suffix = first.name.suffix;
  function.routine = first.name.routine;
  function.convention = {first.spelling.style, abi::IntegerWidth::lp64};
  function.address = first.symbol.address;
  function.size = extent.size;
  function.room = extent.room;
  for (const SpelledFunction& name : names) {
    function.names.emplace_back(name.symbol.name);
    function.exported |= name.symbol.exported;
    function.indirect |= name.symbol.indirect;
  }
  return function;
}

/// Whether the object is MKL's single library. It loads the interface layer (libmkl_intel_lp64, _ilp64) at its first
/// call and passes all calls to it. Only that layer knows the width of its integers, and each call would be intercepted
/// twice.
bool hands_on_to_another(const ObjectFile& object) {
  return object.soname().starts_with("libmkl_rt.");
}

/// cuFFTW computes on the GPU by itself, even on arrays that the CPU cannot read.
bool is_cufftw(const ObjectFile& object) {
  return object.soname().starts_with("libcufftw.");
}

void leave_all_alone(BlasFunctions& found, const char* rule) {
  for (BlasFunction& function : found.functions) found.left_alone.push_back({std::move(function.names.front()), rule});
  found.functions.clear();
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

std::string program_path() {
  std::array<char, 4096> path{};
  const ssize_t length = readlink("/proc/self/exe", path.data(), path.size());
  return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

/// Groups names by function.
std::vector<Names> functions_of(std::vector<SpelledFunction>& all) {
  std::vector<Names> functions;
  for (auto first = all.begin(); first != all.end();) {
    const auto last = std::find_if(
        first, all.end(), [&](const auto& function) { return function.symbol.address != first->symbol.address; });
    std::sort(first, last, comes_first);
    functions.emplace_back(first, last);
    first = last;
  }
  return functions;
}

std::vector<FunctionExtent> extents_of(const ObjectFile& object, const std::vector<Names>& functions) {
  std::vector<FunctionSymbol> symbols;
  symbols.reserve(functions.size());
  for (const Names& names : functions) symbols.push_back(names.front().symbol);
  return object.extents(symbols);
}

/// The number of the element type; in a table with types, each function has one type.
std::size_t type_of(const BlasFunction& function) {
  return static_cast<std::size_t>(
      function.routine.table->signature(function.convention.style, function.routine.number).scalar);
}

class Search {
 public:
  /// `path`: "" for the program of this process.
  Search(const ObjectFile& object, const char* path)
      : object_(object), path_(*path == '\0' ? program_path() : path), spelled_(spelled_functions(object)) {}

  BlasFunctions run() {
    judge_all();
    settle_integers();
    for (const FunctionSymbol& symbol : spelled_.unproven)
      leave_alone(symbol.name, "unknown prefix: nothing shows that it is BLAS");
    return std::move(found_);
  }

 private:
  void leave_alone(std::string_view name, const char* rule) { found_.left_alone.push_back({std::string(name), rule}); }

  /// The names of a family show nothing if one of its functions takes other arguments.
  static void doubt_families(const std::vector<Names>& functions, std::vector<Judgement>& judgements) {
    std::vector<Routine> foreign;
    for (std::size_t i = 0; i < functions.size(); ++i)
      if (judgements[i].rule != nullptr && judgements[i].rule == other_arguments)
        foreign.push_back(functions[i].front().name.routine);
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const Routine& own = functions[i].front().name.routine;
      const bool doubtful = judgements[i].by_family && std::ranges::any_of(foreign, [&](const Routine& other) {
                              return other.table == own.table && own.table->accompanies(own.number, other.number);
                            });
      if (doubtful && judgements[i].rule == nullptr) judgements[i].rule = nothing_shows;
    }
  }

  void judge_all() {
    std::vector<SpelledFunction>& all = spelled_.functions;
    const std::vector<Names> functions = functions_of(all);
    const std::vector<FunctionExtent> extents = extents_of(object_, functions);
    const Evidence evidence(object_, all, is_trusted(path_) || is_trusted(base_name(path_)));
    std::vector<Judgement> judgements;
    for (std::size_t i = 0; i < functions.size(); ++i)
      judgements.push_back(extents[i].size == 0       ? Judgement{"no code"}
                           : !all_agree(functions[i]) ? Judgement{"several routines in one"}
                                                      : evidence.judge(functions[i], extents[i].size));
    doubt_families(functions, judgements);
    std::vector<SpelledFunction> routines;
    for (std::size_t i = 0; i < functions.size(); ++i) {
      const Names names = functions[i];
      const Judgement& judged = judgements[i];
      if (extents[i].size == 0) continue;
      if (judged.rule != nullptr) {
        for (const SpelledFunction& name : names) leave_alone(name.symbol.name, judged.rule);
        continue;
      }
      found_.functions.push_back(function_of(names, extents[i]));
      judgements_.push_back(judged);
      routines.push_back(names.front());
    }
    found_.witnesses = evidence.witnesses(routines);
  }

  /// Combines what the functions show about the integers, and drops those of which nothing is known.
  void settle_integers() {
    std::optional<abi::IntegerWidth> shown;
    bool agree = true;
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      const Judgement& judged = judgements_[i];
      if (judged.reals) found_.reals_known |= 1U << type_of(found_.functions[i]);
      if (!judged.integers || judged.wide_by_name) continue;
      agree &= !shown || *shown == *judged.integers;
      shown = judged.integers;
    }
    const bool can_ask = std::any_of(found_.witnesses.begin(), found_.witnesses.end(),
                                     [](const Witness& witness) { return static_cast<bool>(witness); });
    const bool wide = object_.linkage() == Linkage::shared_object && names_wide_integers(path_.c_str());
    const abi::IntegerWidth expected = wide ? abi::IntegerWidth::ilp64 : abi::IntegerWidth::lp64;
    std::vector<BlasFunction> kept;
    for (std::size_t i = 0; i < judgements_.size(); ++i) {
      const Judgement& judged = judgements_[i];
      BlasFunction& function = found_.functions[i];
      std::optional<abi::IntegerWidth> integers = judged.integers;
      if (!integers && agree) integers = shown;
      const bool reals = (found_.reals_known >> type_of(function) & 1U) != 0;
      const bool no_question =
          function.routine.table->signature(function.convention.style, function.routine.number).roles.empty();
      function.convention.integers = integers.value_or(expected);
      function.certain = (integers.has_value() && reals) || judged.trusted || (no_question && !can_ask);
      if (function.certain || can_ask)
        kept.push_back(std::move(function));
      else
        for (const std::string& name : function.names)
          leave_alone(name, "nothing tells how wide its numbers are (--trust)");
    }
    found_.functions = std::move(kept);
  }

  const ObjectFile& object_;
  std::string path_;
  SpelledFunctions spelled_;
  BlasFunctions found_;
  std::vector<Judgement> judgements_;  ///< one for each of found_.functions
};

}  // namespace

BlasFunctions find_named_functions(const ObjectFile& object, const char* path) {
  BlasFunctions found = Search(object, path).run();
  found.changes = hands_on_to_another(object);
  if (found.changes)
    for (BlasFunction& function : found.functions) function.certain &= function.suffix.find("64") != std::string::npos;
  if (is_cufftw(object)) leave_all_alone(found, "computes on the GPU by itself");
  return found;
}

BlasFunctions patchable_functions(BlasFunctions named, const ObjectFile& object) {
  if (hands_on_to_another(object)) leave_all_alone(named, "passes its calls on to MKL's interface layer");
  return named;
}

BlasFunctions find_blas_functions(const ObjectFile& object, const char* path) {
  return patchable_functions(find_named_functions(object, path), object);
}

Library* make_library(const BlasFunctions& found, std::uint64_t bias) {
  if (std::all_of(found.functions.begin(), found.functions.end(), [](const auto& each) { return each.certain; }))
    return nullptr;
  Witnesses witnesses = found.witnesses;
  for (Witness& witness : witnesses) witness.address += bias;
  return new Library(witnesses, found.reals_known, found.changes);
}

const BlasFunction* sibling(const BlasFunctions& found, const BlasFunction& function, const Routine& routine) {
  for (const BlasFunction& other : found.functions)
    if (other.routine == routine && other.prefix == function.prefix && other.suffix == function.suffix &&
        other.convention.style == function.convention.style)
      return &other;
  return nullptr;
}

}  // namespace blastoff::intercept
