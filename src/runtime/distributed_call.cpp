#include "runtime/distributed_call.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include "config/options.h"
#include "intercept/dispatch.h"
#include "intercept/loaded_objects.h"
#include "intercept/lookup.h"
#include "platform/attendance.h"
#include "platform/confinement.h"
#include "platform/fork_guard.h"
#include "platform/process.h"
#include "platform/threads.h"
#include "report/call_log.h"
#include "report/recorder.h"
#include "report/wall_time.h"
#include "runtime/call_stopwatch.h"
#include "runtime/callers_environment.h"
#include "runtime/grid_root.h"
#include "runtime/process.h"
#include "runtime/traced_call.h"
#include "scalapack/gathering.h"
#include "scalapack/trace_text.h"

namespace blastoff::runtime {

namespace {

using config::GatherMode;
using intercept::InterceptedCall;
using report::Refusal;
using scalapack::Functions;
using scalapack::Grid;
using scalapack::Outcome;

/// nullptr if the program does not have all functions. Looked up once for each original, until a library is loaded or
/// unloaded.
const Functions* functions_for(const InterceptedCall& intercepted, blas::Scalar scalar) {
  const Functions* result = nullptr;
  platform::undisturbed([&] {
    const CallersEnvironment environment;
    const platform::ForkGuard guard;
    try {
      static std::mutex mutex;
      static auto& known = *new std::map<std::tuple<void*, std::uint64_t, std::uint64_t>, std::optional<Functions>>;
      const intercept::LinkerCounts counts = intercept::linker_counts();
      const std::lock_guard lock(mutex);
      const auto [entry, is_new] = known.try_emplace({intercepted.original.function, counts.loads, counts.unloads});
      if (is_new) {
        entry->second = scalapack::find_functions(scalar, [&](const char* symbol) {
          // If the program refers to a library's variable, the copy in the program itself is the one in use, so it
          // comes first.
          void* const global = dlsym(RTLD_DEFAULT, symbol);
          return global != nullptr ? global : intercept::find_definition(symbol, intercepted.caller);
        });
        dlerror();
      }
      if (entry->second) result = &*entry->second;
    } catch (const std::bad_alloc&) {
      // The other ranks do not wait for a rank that has not answered.
    }
  });
  return result;
}

std::string text_of_setting(std::string_view name) {
  const auto& option = *std::ranges::find(config::options(), name, &config::Option::name);
  const char* const text = secure_getenv(option.environment);
  return text == nullptr ? "" : text;
}

/// What a rank shows of itself to others, from the time when the library is loaded.
struct RankShown {
  platform::Rank rank = platform::Rank::of_this_process(secure_getenv(config::run_directory_variable));
  std::string gather = text_of_setting("gather");
  /// All that the ranks must have alike to ask each other at the same calls: with `always`, they ask at small ones,
  /// too.
  std::string likeness =
      BLASTOFF_VERSION " " + std::string(gather == "always" ? gather : "") + " " + text_of_setting("routines");
  bool takes_part = gather != "never";

  static const RankShown& own() {
    static const auto& own = *new RankShown;
    return own;
  }
};

/// How long the first call on a grid waits for the other ranks: about a thousandth of the time of the call. A process
/// without a device has no reason to wait, and nobody waits for a rank that is certain to be absent.
std::chrono::duration<double> patience(GatherMode mode, const scalapack::Call& call) {
  using platform::Attendance;
  // A grid takes all of its ranks to make, so their libraries have been loaded.
  static const Attendance there = platform::attendance(RankShown::own().rank, RankShown::own().likeness);
  if (mode == GatherMode::never || there == Attendance::partial) return std::chrono::seconds(0);
  if (mode == GatherMode::always) return std::chrono::milliseconds(there == Attendance::full ? 10000 : 500);
  if (Process::instance().refusal() != Refusal::none) return std::chrono::seconds(0);
  return std::chrono::duration<double>(std::min(0.2, 4e-14 * call.multiplications()));
}

scalapack::Willingness willingness(GatherMode mode, const scalapack::Call& call) {
  return {.patience = patience(mode, call),
          .likeness = static_cast<int>(std::hash<std::string>()(RankShown::own().likeness))};
}

/// Whether the call may be gathered at all. All processes answer alike if they have the same mode.
bool may_be_gathered(const scalapack::Call& call, GatherMode mode) {
  return mode == GatherMode::always || call.is_worth_asking();
}

/// Whether a trace can tell of the call: wrong arguments say nothing about matrices.
bool may_be_traced(const scalapack::Call& call, const Grid& grid) {
  return grid.has_this_process() && call.may_be_gathered(grid) && call.is_right_here(grid);
}

Outcome gather(const InterceptedCall& intercepted, const scalapack::Call& call, const Functions* functions,
               const Grid& grid, GridRoot& root) {
  if (functions == nullptr) return Outcome::distributed;
  if (grid.has_this_process() && !grid.is_root()) root.follow();
  const GatherMode mode = Process::instance().settings().gather;
  if (!grid.has_this_process() || (grid.is_root() && mode == GatherMode::never)) return Outcome::distributed;
  if (!call.may_be_gathered(grid)) return Outcome::distributed;
  try {
    return scalapack::gather(call, intercepted.original.function, *functions, grid, root, willingness(mode, call));
  } catch (const std::bad_alloc&) {
    return Outcome::distributed;  // the other ranks give up soon
  }
}

/// All processes make the call, as without Blastoff.
void make_together(const InterceptedCall& intercepted, Outcome outcome) {
  std::optional<OpenPolicy::PostponedCall> postponed;
  if (outcome == Outcome::postponed) postponed.emplace();
  intercepted.raw(intercepted.original.function);
}

Refusal refusal_of(Outcome outcome, const GridRoot& root) {
  switch (outcome) {
    case Outcome::gathered: return Refusal::gathered;
    case Outcome::gathered_by_several: return Refusal::gathered_by_several;
    case Outcome::reported: return Refusal::invalid_arguments;
    case Outcome::distributed:
    case Outcome::postponed: break;
  }
  return root.refusal() == Refusal::none ? Refusal::distributed : root.refusal();
}

/// Counts the call like others that stay on the CPU: without the calls inside it, one of which may be the solution.
/// `followed`: report::Record. `on_cpu`: all processes have made it together, as without Blastoff. Otherwise the CPU's
/// time for it is not known.
void count(const InterceptedCall& intercepted, Refusal refusal, double seconds, const report::CallTime& time,
           bool on_cpu, bool followed) {
  report::Record record;
  record.followed = followed;
  record.routine = intercepted.routine_id();
  record.symbol = intercepted.entry.symbol;
  record.caller = intercepted.caller;
  record.refusal = refusal;
  record.seconds = seconds;
  record.wall_seconds = time.wall;
  record.share = time.share;
  record.inside = time.inside;
  if (on_cpu) record.known_cpu_seconds = std::max(0.0, time.wall - time.share * time.recording_inside);
  platform::undisturbed([&] { report::add(record); });
  report::log_call(record, nullptr);
}

/// Without a device, a profile has all calls, also those that are not worth a question to the other ranks.
void make_counted(const InterceptedCall& intercepted) {
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const CallStopwatch stopwatch;
  intercepted.raw(intercepted.original.function);
  const double seconds = stopwatch.own(stopwatch.seconds());
  count(intercepted, Refusal::device_none, seconds, report::end_call(begin), true, false);
}

}  // namespace

void attend_distributed_calls() {
  if (const RankShown& own = RankShown::own(); own.takes_part) platform::attend(own.rank, own.likeness);
}

// A child of fork has no place among the ranks: its messages would count as its parent's.
void make_distributed(const InterceptedCall& intercepted, const scalapack::Call& call) {
  if (platform::confined()) return intercepted.raw(intercepted.original.function);
  Process* const existing = Process::try_instance();
  if (existing == nullptr || existing->in_forked_child()) return intercepted.raw(intercepted.original.function);
  Process& process = *existing;
  const bool asks = process.offloads(intercepted.routine_id()) && may_be_gathered(call, process.settings().gather);
  if (!asks && process.settings().device == "none") return make_counted(intercepted);
  if (!asks) return intercepted.raw(intercepted.original.function);
  const report::CallBegin begin = report::begin_call(__builtin_frame_address(0));
  const Functions* const functions = functions_for(intercepted, call.scalar());
  const Grid grid = functions == nullptr ? Grid{} : scalapack::grid_of(*functions, call.context());
  const bool is_traced = process.traces() && may_be_traced(call, grid);
  const operation::Operation part = is_traced ? scalapack::own_part(call, grid) : operation::Operation{};
  TracedCall traced(part, intercepted.caller, is_traced);
  const CallStopwatch stopwatch;
  GridRoot root(intercepted.caller);
  const Outcome outcome = gather(intercepted, call, functions, grid, root);
  const Refusal refusal = refusal_of(outcome, root);
  const bool together = outcome == Outcome::distributed || outcome == Outcome::postponed;
  if (together) {
    const CallStopwatch original;
    make_together(intercepted, outcome);
    if (!call.failed()) root.learn_together(original.seconds());
  }
  if (outcome == Outcome::gathered || outcome == Outcome::gathered_by_several) root.learn_gathered(stopwatch.seconds());
  traced.set_distributed([&] { return scalapack::trace_text(call, grid); });
  const double elapsed = stopwatch.seconds();
  traced.end(together ? std::optional(stopwatch.own(elapsed)) : std::nullopt, elapsed);
  const report::CallTime time = report::end_call(begin);
  count(intercepted, refusal, stopwatch.own(stopwatch.seconds()), time, together, root.follows());
}

}  // namespace blastoff::runtime
