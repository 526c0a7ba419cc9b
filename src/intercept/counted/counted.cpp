#include "intercept/counted/counted.h"

#include <pthread.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "intercept/counted/routines.def"
#include "intercept/evidence/evidence.h"
#include "intercept/patch/counted_hook.h"
#include "intercept/vectors/entry_points.h"
#include "platform/errno_guard.h"

namespace blastoff::intercept::counted {
namespace {

// The routines that are only counted, and how their names are spelled.

struct Named {
  Family family;
  std::string name;  ///< "dcopy"
};

std::vector<Named> make_routines() {
  std::vector<Named> all;
  const auto add = [&](Family family, std::string_view letters, std::string_view before, std::string_view after) {
    if (letters.empty()) all.push_back({family, std::string(before)});
    for (const char letter : letters) all.push_back({family, std::string(before) + letter + std::string(after)});
  };
#define BLASTOFF_ADD_ROUTINE(family, letters, before, after) add(Family::family, letters, before, after);
  BLASTOFF_COUNTED_ROUTINES(BLASTOFF_ADD_ROUTINE)
#undef BLASTOFF_ADD_ROUTINE
  return all;
}

/// Lives until the process ends.
const std::vector<Named>& known_routines() {
  static const std::vector<Named>& all = *new std::vector<Named>(make_routines());
  return all;
}

const std::unordered_map<std::string_view, std::uint16_t>& numbers() {
  static const auto& all = *[] {
    auto* const map = new std::unordered_map<std::string_view, std::uint16_t>;
    std::uint16_t number = 0;
    for (const Named& routine : known_routines()) map->emplace(routine.name, number++);
    return map;
  }();
  return all;
}

/// What a name may end in. The longest comes first.
constexpr std::array<std::string_view, 4> suffixes = {"_64_", "_64", "64_", "_"};

/// Returns the routine of a function with this name: "dcopy_", "cblas_dcopy", "scipy_cblas_zdotc_sub64_"; nullopt if it
/// is none. A plain "dcopy" might be a program's own function, and is none.
std::optional<std::uint16_t> routine_of(std::string_view symbol) {
  constexpr std::string_view builder = "scipy_";
  constexpr std::string_view c_prefix = "cblas_";
  constexpr std::string_view subroutine = "_sub";  // of C functions that store a complex result: cblas_zdotc_sub
  std::string_view name = symbol;
  if (name.starts_with(builder)) name.remove_prefix(builder.size());
  const bool is_c = name.starts_with(c_prefix);
  if (is_c) name.remove_prefix(c_prefix.size());
  const auto* const suffix =
      std::ranges::find_if(suffixes, [&](std::string_view each) { return name.ends_with(each); });
  if (suffix != suffixes.end())
    name.remove_suffix(suffix->size());
  else if (!is_c)
    return std::nullopt;
  if (is_c && name.ends_with(subroutine)) name.remove_suffix(subroutine.size());
  const auto found = numbers().find(name);
  return found == numbers().end() ? std::nullopt : std::optional(found->second);
}

using Clock = std::chrono::steady_clock;

struct Sums {
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> nanoseconds{0};
  std::atomic<std::uint64_t> own_nanoseconds{0};
};

/// One for each routine. Made before the first function is patched, and never destroyed.
Sums* sums = nullptr;
Families counted_families;
double (*recorded_elsewhere)() = nullptr;

/// A call that has not returned.
struct Open {
  std::uintptr_t frame;  ///< of the hook. A deeper one lies below it
  Clock::time_point start;
  double recorded_before;
  double inside;           ///< seconds of counted calls inside it
  double recorded_inside;  ///< seconds of recorded calls inside these
  std::uint16_t routine;
};

/// The calls of a thread that have not returned, the outermost first. Deeper ones are not counted.
struct OpenCalls {
  std::array<Open, 16> calls;
  std::uint32_t number = 0;
  std::uint32_t uncounted = 0;
};
[[gnu::tls_model("initial-exec")]] constinit thread_local OpenCalls* own_open_calls = nullptr;
pthread_key_t at_thread_end;

void drop_open_calls(void* open) {
  delete static_cast<OpenCalls*>(open);
  own_open_calls = nullptr;
}

/// nullptr: there is no memory.
OpenCalls* open_calls() {
  if (own_open_calls == nullptr) {
    own_open_calls = new (std::nothrow) OpenCalls;
    if (own_open_calls != nullptr) pthread_setspecific(at_thread_end, own_open_calls);
  }
  return own_open_calls;
}

void add(std::atomic<std::uint64_t>& sum, double seconds) {
  sum.fetch_add(static_cast<std::uint64_t>(1e9 * std::max(seconds, 0.0)), std::memory_order_relaxed);
}

/// A function that hands a call on to another one with the same name (FlexiBLAS, the C interface) counts as one call.
bool is_handed_on(const OpenCalls& open) {
  return open.number > 1 && open.calls[open.number - 2].routine == open.calls[open.number - 1].routine;
}

void close_call(OpenCalls& open) {
  const Open& call = open.calls[open.number - 1];
  const double seconds = std::chrono::duration<double>(Clock::now() - call.start).count();
  const double recorded = recorded_elsewhere() - call.recorded_before;
  Sums& own = sums[call.routine];
  if (!is_handed_on(open)) {
    own.calls.fetch_add(1, std::memory_order_relaxed);
    add(own.nanoseconds, seconds);
  }
  add(own.own_nanoseconds, seconds - call.inside - std::max(recorded - call.recorded_inside, 0.0));
  --open.number;
  if (open.number == 0) return;
  Open& outer = open.calls[open.number - 1];
  outer.inside += seconds;
  outer.recorded_inside += recorded;
}

/// Forgets calls that have not returned, but left by an exception or by longjmp.
void forget_left(OpenCalls& open, std::uintptr_t frame) {
  while (open.number > 0 && open.calls[open.number - 1].frame <= frame) {
    --open.number;
    open.uncounted = 0;
  }
}

Hook hook(abi::Style, std::uint16_t) {
  return &blastoff_counted_hook;
}

/// The functions that are counted look to the patcher like those of a front end.
const RoutineTable& table() {
  static const RoutineTable& one = *[] {
    auto* const names = new std::vector<std::string_view>;
    for (const Named& routine : known_routines()) names->push_back(routine.name);
    auto* const made = new RoutineTable{};
    made->names = *names;
    made->hook = &hook;
    return made;
  }();
  return one;
}

bool is_counted(Family family) {
  switch (family) {
    case Family::level1: return counted_families.level1;
    case Family::level2: return counted_families.level2;
    case Family::pblas: return counted_families.pblas;
  }
  return false;
}

/// MKL's single library passes all calls on to another object, in which they are counted.
bool hands_on_to_another(const ObjectFile& file) {
  return file.soname().starts_with("libmkl_rt.");
}

/// A name alone is no evidence (evidence/evidence.h), and the hook passes on only a part of the stack. BLAS and the
/// PBLAS call a function for invalid arguments (xerbla_, pxerbla_, scipy_xerbla_64_), which a program's own functions
/// do not.
bool may_be_blas(const ObjectFile& file) {
  return !file.names_with("xerbla").empty();
}

}  // namespace

void begin(Families families, double (*recorded_seconds)()) {
  if (!families.level1 && !families.level2 && !families.pblas) return;
  if (pthread_key_create(&at_thread_end, drop_open_calls) != 0) return;
  recorded_elsewhere = recorded_seconds;
  sums = new Sums[known_routines().size()];
  counted_families = families;
}

bool any() {
  return sums != nullptr;
}

void add_functions(const ObjectFile& file, BlasFunctions& found) {
  if (sums == nullptr || hands_on_to_another(file)) return;
  // All calls of level 1 are counted, also those that are mostly left to these functions.
  if (is_counted(Family::level1))
    std::erase_if(found.functions, [](const BlasFunction& each) { return each.routine.table == &vector_routines; });
  std::set<std::uint64_t> taken;
  for (const BlasFunction& function : found.functions) taken.insert(function.address);
  std::vector<FunctionSymbol> symbols;
  std::vector<std::uint16_t> numbers;
  for (const FunctionSymbol& symbol : file.functions_with("")) {
    const auto routine = routine_of(symbol.name);
    if (!routine || !is_counted(known_routines()[*routine].family) || !taken.insert(symbol.address).second) continue;
    symbols.push_back(symbol);
    numbers.push_back(*routine);
  }
  if (symbols.empty()) return;
  const bool proven = may_be_blas(file);
  const std::vector<FunctionExtent> extents = file.extents(symbols);
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (extents[i].size == 0) continue;
    if (!proven && !is_trusted(symbols[i].name)) {
      found.left_alone.push_back({std::string(symbols[i].name), nothing_shows});
      continue;
    }
    BlasFunction& function = found.functions.emplace_back();
    function.names.emplace_back(symbols[i].name);
    function.routine = {&table(), numbers[i]};
    function.certain = true;
    function.address = symbols[i].address;
    function.size = extents[i].size;
    function.room = extents[i].room;
    function.exported = symbols[i].exported;
    function.indirect = symbols[i].indirect;
  }
}

std::vector<Routine> routines() {
  std::vector<Routine> called;
  for (std::size_t routine = 0; sums != nullptr && routine < known_routines().size(); ++routine) {
    const Sums& own = sums[routine];
    const std::uint64_t calls = own.calls.load(std::memory_order_relaxed);
    const auto seconds = [](const std::atomic<std::uint64_t>& sum) {
      return 1e-9 * static_cast<double>(sum.load(std::memory_order_relaxed));
    };
    if (calls > 0)
      called.push_back({known_routines()[routine].family, known_routines()[routine].name, calls,
                        seconds(own.nanoseconds), seconds(own.own_nanoseconds)});
  }
  return called;
}

void reset() {
  for (std::size_t routine = 0; sums != nullptr && routine < known_routines().size(); ++routine) {
    Sums& own = sums[routine];
    own.calls = 0;
    own.nanoseconds = 0;
    own.own_nanoseconds = 0;
  }
}

}  // namespace blastoff::intercept::counted

extern "C" {

const void* blastoff_counted_begin(const blastoff::intercept::PatchedFunction* called, std::uintptr_t frame) {
  using namespace blastoff::intercept::counted;
  const blastoff::platform::ErrnoGuard errno_stays;
  if (OpenCalls* const open = open_calls()) {
    forget_left(*open, frame);
    if (open->number == open->calls.size()) {
      ++open->uncounted;
    } else {
      open->calls[open->number] = {frame, Clock::now(), recorded_elsewhere(), 0, 0, called->entry.routine.number};
      ++open->number;
    }
  }
  return called->original.function;
}

void blastoff_counted_end() {
  using namespace blastoff::intercept::counted;
  OpenCalls* const open = own_open_calls;
  if (open == nullptr) return;
  if (open->uncounted > 0)
    --open->uncounted;
  else if (open->number > 0)
    close_call(*open);
}
}
