#include "intercept/evidence/evidence.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "intercept/blas/entry_points.h"
#include "intercept/lapack/entry_points.h"
#include "intercept/patch/architecture.h"

namespace blastoff::intercept {
namespace {

/// Functions that only one library has: functions that tell its version, and inner functions that a program contains
/// even if it is linked with only a few routines of a static library.
constexpr std::string_view marks[] = {"openblas_get_config",
                                      "openblas_get_parallel",
                                      "blas_memory_alloc",
                                      "mkl_get_version",
                                      "MKL_Get_Version",
                                      "MKL_Get_Version_String",
                                      "mkl_serv_get_version",
                                      "mkl_serv_lock",
                                      "bli_info_get_version_str",
                                      "bli_init_once",
                                      "aocl_get_version",
                                      "ATL_buildinfo",
                                      "nvpl_blas_get_version",
                                      "nvpl_lapack_get_version",
                                      "armplversion_",
                                      "armpl_get_cpuid",
                                      "esvemonp",
                                      "iessl_",
                                      "flexiblas_init",
                                      "flexiblas_get_version",
                                      "lbt_forward",
                                      "libsci_version",
                                      "ATL_dgemm"};

struct Trusted {
  std::mutex mutex;
  std::string names;
};

Trusted& trusted() {
  static Trusted& one = *new Trusted;
  return one;
}

bool is_decorated(const SpelledFunction& function) {
  return !function.spelling.undecorated;
}

/// Serialises the use of the disassembler, which has memory for one instruction.
std::mutex& reading() {
  static std::mutex& one = *new std::mutex;
  return one;
}

}  // namespace

void set_trusted(std::string_view names) {
  const std::lock_guard lock(trusted().mutex);
  trusted().names = names;
}

bool is_trusted(std::string_view name) {
  const std::lock_guard lock(trusted().mutex);
  std::string_view left = trusted().names;
  while (!left.empty()) {
    const std::string_view one = left.substr(0, left.find(','));
    if (one == name) return true;
    left.remove_prefix(std::min(left.size(), one.size() + 1));
  }
  return false;
}

Evidence::Evidence(const ObjectFile& object, const std::vector<SpelledFunction>& all, bool trusted)
    : object_(object), all_(all), trusted_(trusted) {
  if (all.empty()) return;
  // OpenBLAS's builders may rename everything that it exports.
  std::vector<std::string_view> telling = object.first_names_with(marks[0]);
  telling.insert(telling.end(), std::begin(marks), std::end(marks));
  marked_ = defines_one_of(telling);
  if (object.linkage() == Linkage::shared_object) whole_ = exported_families(all);
  const RoutineTable* last = nullptr;
  std::string_view last_teller;
  for (const SpelledFunction& function : all) {
    const RoutineTable* const table = function.name.routine.table;
    const std::string_view teller = table->told_by(function.name.routine.number);
    if (!teller.empty() && teller != last_teller) {
      last_teller = teller;
      if (!defines_one_of({&teller, 1})) not_told_by_.push_back(teller);
    }
    if (table == last || std::ranges::count(lacking_, table) != 0) continue;
    if (!table->needed_beside.empty() && !defines_one_of(table->needed_beside)) lacking_.push_back(table);
    last = table;
  }
  has_xerbla_ = !marked_ && object.names_exactly("xerbla_");
}

bool Evidence::defines_one_of(std::span<const std::string_view> names) const {
  const auto defined = [](std::uint64_t address) { return address != 0; };
  return std::ranges::any_of(object_.dynamic_addresses_of(names), defined) ||
         std::ranges::any_of(object_.addresses_of(names), defined);
}

bool Evidence::is_of_whole(const RoutineTable& table) const {
  return &table == &lapack_routines ? whole_.lapack : whole_.level3;
}

bool Evidence::has_family(const SpelledFunction& function) const {
  if (!has_xerbla_) return false;
  const RoutineTable& table = *function.name.routine.table;
  bool any = false;
  const auto count = static_cast<std::uint16_t>(table.names.size());
  for (std::uint16_t other = 0; other < count; ++other) {
    if (!table.accompanies(function.name.routine.number, other)) continue;
    any = true;
    const Routine wanted{&table, other};
    const bool there = std::any_of(all_.begin(), all_.end(), [&](const SpelledFunction& each) {
      return each.name.routine == wanted && each.name.prefix == function.name.prefix &&
             each.name.suffix == function.name.suffix;
    });
    if (!there) return false;
  }
  return any;
}

Fit Evidence::fit_of(const Signature& signature, std::uint64_t address, std::uint64_t size) const {
  if (signature.roles.empty() || object_.machine() != patch::native_machine) return {};
  const patch::CodeRange code = object_.code_around(address);
  if (code.bytes.empty()) return {};
  const std::size_t offset = address - code.address;
  const patch::CodeRange function{code.bytes.subspan(offset, std::min<std::size_t>(size, code.bytes.size() - offset)),
                                  address};
  const std::lock_guard lock(reading());
  const auto use = patch::argument_use(
      patch::native, code, function, [&](const patch::ArgumentUse& so_far) { return settled(fit(signature, so_far)); });
  if (!use) return {};
  const Fit all = fit(signature, use->all);
  const Fit own = fit(signature, use->own);
  // What callees seem to do with the arguments does not refute what the function itself shows.
  Fit result = own.verdict == Fit::Verdict::fits && all.verdict == Fit::Verdict::contradicts ? own : all;
  // What was not read may use more arguments than the routine has.
  if (!use->own.complete && result.verdict != Fit::Verdict::contradicts) result.verdict = Fit::Verdict::unknown;
  return result;
}

Judgement Evidence::judge(Names names, std::uint64_t size) const {
  const SpelledFunction& first = names.front();
  Judgement result;
  const RoutineTable& table = *first.name.routine.table;
  const Signature signature = table.signature(first.spelling.style, first.name.routine.number);
  const bool undecorated = std::none_of(names.begin(), names.end(), is_decorated);
  if (undecorated) result.rule = undecorated_rule(first.name, all_);
  if (std::ranges::count(lacking_, &table) != 0) result.rule = nothing_shows;
  if (std::ranges::count(not_told_by_, table.told_by(first.name.routine.number)) != 0)
    return Judgement{.rule = nobody_tells};
  const bool wide = std::any_of(names.begin(), names.end(), [](const auto& name) { return name.spelling.wide; });
  if (wide) result.integers = abi::IntegerWidth::ilp64;
  result.wide_by_name = wide;
  result.reals = marked_ || wide;
  result.trusted = trusted_ || std::any_of(names.begin(), names.end(),
                                           [](const auto& name) { return is_trusted(name.symbol.name); });
  if (result.trusted) {
    result.rule = nullptr;
    result.reals = true;
  } else if (result.rule != nullptr || signature.roles.empty() || (is_of_whole(table) && (marked_ || !undecorated))) {
    return result;
  }
  const Fit code = first.symbol.indirect ? Fit{} : fit_of(signature, first.symbol.address, size);
  if (!result.integers) result.integers = code.integers;
  result.reals |= code.reals;
  if (result.trusted) return result;
  if (code.verdict == Fit::Verdict::contradicts) result.rule = other_arguments.data();
  const bool family = !undecorated && has_family(first);
  const bool known = marked_ || (family && table.arguments_suffice);
  const bool fits = code.verdict == Fit::Verdict::fits && (family || table.arguments_suffice);
  result.by_family = !fits && !marked_;
  if (!fits && !known && code.verdict != Fit::Verdict::contradicts) result.rule = nothing_shows;
  if (code.verdict == Fit::Verdict::hands_on && !known) result.rule = hands_on_rule.data();
  return result;
}

bool Evidence::fits_as_largest(std::uint64_t address, abi::Style style, blas::Scalar scalar) const {
  static constexpr Role fortran[] = {Role::integer, Role::array, Role::integer};
  static constexpr Role cblas[] = {Role::number, Role::array, Role::number};
  constexpr std::uint64_t max_code = 4096;
  const Signature signature{
      style == abi::Style::fortran ? std::span<const Role>(fortran) : std::span<const Role>(cblas), scalar};
  return fit_of(signature, address, max_code).verdict == Fit::Verdict::fits;
}

void Evidence::add_largest(const SpelledFunction& like, bool exported, Witnesses& found) const {
  static constexpr std::string_view letters = "sdcz";
  std::array<std::string, letters.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = std::string(like.name.prefix) + "i" + letters[i] + "amax" + std::string(like.name.suffix);
  const std::array<std::string_view, letters.size()> wanted{names[0], names[1], names[2], names[3]};
  const std::vector<std::uint64_t> addresses =
      exported ? object_.dynamic_addresses_of(wanted) : object_.addresses_of(wanted);
  const abi::Style style = like.spelling.style;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] || addresses[i] == 0) continue;
    const bool known = whole_.level3 || whole_.lapack || marked_ || trusted_ ||
                       fits_as_largest(addresses[i], style, static_cast<blas::Scalar>(i));
    if (known)
      found[i] = {style == abi::Style::fortran ? Witness::Kind::largest : Witness::Kind::largest_c, addresses[i]};
  }
}

Witnesses Evidence::witnesses(const std::vector<SpelledFunction>& routines) const {
  const auto is_there = [](const Witness& each) { return static_cast<bool>(each); };
  Witnesses found{};
  // A search through all names takes long, so exported functions come first.
  for (const bool exported : {true, false}) {
    if (!exported && whole_.complete()) break;
    std::vector<std::pair<std::string_view, std::string_view>> tried;
    for (const SpelledFunction& function : routines) {
      if (function.spelling.wide || function.name.capitals) continue;
      const std::pair spelling(function.name.prefix, function.name.suffix);
      if (std::find(tried.begin(), tried.end(), spelling) != tried.end()) continue;
      tried.push_back(spelling);
      add_largest(function, exported, found);
      if (std::all_of(found.begin(), found.end(), is_there)) return found;
    }
  }
  for (const SpelledFunction& function : routines) {
    const Routine& routine = function.name.routine;
    if (routine.table != &lapack_routines || function.spelling.wide || function.symbol.indirect) continue;
    const lapack::RoutineRow& row = lapack::routine_table[routine.number];
    Witness& witness = found[static_cast<std::size_t>(row.scalar)];
    if (row.kind == lapack::Kind::potrf && !witness) witness = {Witness::Kind::cholesky, function.symbol.address};
  }
  if (routines.empty() || std::any_of(found.begin(), found.end(), is_there)) return found;
  const std::uint64_t own_rows = object_.addresses_of(std::array<std::string_view, 1>{"numroc_"}).front();
  if (own_rows != 0) found.fill({Witness::Kind::numroc, own_rows});
  return found;
}

}  // namespace blastoff::intercept
